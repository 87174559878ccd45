// Calls a tool within bounds: in a savepoint of its own, through a handle that is revoked at the
// deadline, with arguments that are checked again, and an output that is JSON of bounded size.
// step.ts calls it for a step, preview.ts for what a step would do.
//
// - It never returns before the tool's last query was answered: what follows on the connection is
//   not mixed up with it. A statement ends within its own limit, whatever the tool's deadline is.

import { openHandle } from '../../persistence/handle.ts';
import type { StoredStep } from '../../persistence/proposals.ts';
import type { Tx } from '../../persistence/transaction.ts';
import { valueFault } from '../../persistence/values.ts';
import { canonicalText } from './plan.ts';
import type { Tool, ToolContext, ToolRegistry } from './tools.ts';

/** The step could not be carried out by its tool as it is. The reason is for people. */
class StepError extends Error {
  override readonly name = 'StepError';
  readonly code:
    | 'unknown_tool'
    | 'invalid_arguments'
    | 'bad_output'
    | 'output_too_large'
    | 'deadline'
    | 'error_passed_over';

  constructor(code: StepError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export interface ToolCall {
  readonly tools: ToolRegistry;
  readonly step: StoredStep;
  readonly context: Omit<ToolContext, 'signal'>;
  /** The tool's deadline, from the call on. */
  readonly toolMs: number;
}

/** One for all: an abort without a reason makes an error with a stack each time. */
const stepOver = new Error('the step is over');
const largestOutput = 1_048_576;
const longestTimerMs = 2 ** 31 - 1;

function readArguments(tools: ToolRegistry, step: StoredStep): { tool: Tool; input: never } {
  const tool = tools.find(step.tool, step.version);
  if (!tool) {
    throw new StepError('unknown_tool', `there is no tool ${step.tool} of version ${step.version}`);
  }
  const read = tool.input.safeParse(JSON.parse(step.arguments));
  if (read.success) return { tool, input: read.data };
  const [issue] = read.error.issues;
  const place = issue ? `${issue.path.join('.') || 'arguments'}: ${issue.message}` : '';
  throw new StepError('invalid_arguments', `${step.tool} does not take its arguments: ${place}`);
}

/** The output as text. It is read once, so that what is checked is what is kept. */
function outputText(output: unknown): string | null {
  if (output === undefined) return null;
  const fault = valueFault(output, 'json?');
  if (fault) throw new StepError('bad_output', `the tool's output is no JSON: ${fault}`);
  const text = canonicalText(output);
  if (text.length <= largestOutput) return text;
  const message = `the tool's output has ${text.length} characters, of ${largestOutput} at most`;
  throw new StepError('output_too_large', message);
}

/**
 * Calls the tool of a step in the transaction.
 * @returns its output as JSON text, or null.
 * @throws StepError, and whatever the tool throws. What the tool did is still there then.
 */
export async function callTool(
  tx: Tx,
  { tools, step, context, toolMs }: ToolCall,
): Promise<string | null> {
  const { tool, input } = readArguments(tools, step);
  const handle = openHandle(tx);
  const over = new AbortController();
  let limit: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const ms = Math.min(Math.max(1, Math.floor(toolMs)), longestTimerMs);
    limit = setTimeout(() => {
      // From here on no query of the tool reaches the database.
      handle.revoke();
      const error = new StepError('deadline', `${step.tool} did not end within ${ms} ms`);
      over.abort(error);
      reject(error);
    }, ms);
  });
  const running = (async () =>
    await tool.run(handle.tx, input, { ...context, signal: over.signal }))();
  let text: string | null;
  try {
    text = outputText(await Promise.race([running, late]));
  } finally {
    clearTimeout(limit);
    handle.revoke();
    over.abort(stepOver);
    // It may end long after its deadline; nobody listens then.
    running.catch(() => undefined);
    await handle.settled();
  }
  const failure = handle.failure();
  if (failure === undefined) return text;
  const message = 'the tool passed over what the database refused';
  throw new StepError('error_passed_over', message, { cause: failure });
}
