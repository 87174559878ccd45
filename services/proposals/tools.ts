// Tools: what a plan may consist of. A tool is one file; the list of them is put together in
// server.ts, one line each. This is the one file through which other domains reach proposals.
//
// - A tool changes the database through the transaction that it is given, and nothing else. What
//   lies outside (a mail, an operation of another system) it enqueues there.
// - It may be run more than once for the same arguments: by a preview, which is rolled back, and
//   by the step. It must not remember anything.
// - A tool whose input or meaning changes gets another version. Plans name the version that they
//   were checked against, and a version that is not there any more is a failed step.

import { z } from 'zod';
import type { Tx } from '../../persistence/transaction.ts';

/** From harmless to grave. A plan has the gravest of its steps. */
export const risks = ['low', 'medium', 'high'] as const;
export type Risk = (typeof risks)[number];

export interface ToolContext {
  readonly proposal: string;
  /** The step's place in the plan, from 0. */
  readonly step: number;
  readonly proposer: string;
  /** Null in the preview of a plan that nobody has approved. */
  readonly approvedBy: string | null;
  /** Who had it executed or previewed. */
  readonly requestedBy: string;
  /** Aborted at the tool's deadline. Queries throw from then on. */
  readonly signal: AbortSignal;
  /** What an earlier step of this run put out; undefined where it put out nothing. */
  outputOf(step: number): unknown;
}

/** A step as it is proposed. Without a version it is for the tool's newest one. */
export interface NewStep {
  readonly tool: string;
  readonly version?: number | undefined;
  readonly arguments: unknown;
}

/** What was carried out: the arguments and what the tool put out. */
export interface Done {
  readonly arguments: unknown;
  readonly output: unknown;
}

/** The step that takes back what was done, or why there is none. */
export type Inverse = { readonly step: NewStep } | { readonly reason: string };

/** How places of an old plan are called in the plan that continues it. */
export interface Moved {
  /** The place of an old step in the new plan; undefined where it was carried out before. */
  placeOf(step: number): number | undefined;
  /** What an old step put out, if it was carried out. */
  outputOf(step: number): unknown;
}

interface ToolData<S extends z.ZodType> {
  /** As `noun.verb`. */
  readonly name: string;
  readonly version: number;
  /** For people and for an AI that proposes: what it does, in one or two sentences. */
  readonly description: string;
  readonly risk: Risk;
  readonly input: S;
  /** Carries it out. What it returns is kept in the receipt: JSON, of a megabyte at most. */
  readonly run: (tx: Tx, input: z.output<S>, context: ToolContext) => Promise<unknown>;
  readonly inverse: (done: Done) => Inverse;
  /** What it would change, in one sentence for people. */
  readonly sentence: (input: z.output<S>) => string;
  /** The same arguments in a plan that continues this one, where they name other steps. */
  readonly carried?: (input: z.output<S>, moved: Moved) => unknown;
}

/** Any tool, without the type of its input. */
export type Tool = ToolData<z.ZodType<never>>;

const namePattern = /^[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+$/;

/** A mistake in a tool, or in the list of tools. The process does not start. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly code = 'bad_tool';
}

/** Types a tool. @throws ToolError for a name or version that a plan could not name. */
export function defineTool<S extends z.ZodType>(tool: ToolData<S>): Tool {
  const { name, version } = tool;
  if (!namePattern.test(name) || name.length > 80) {
    throw new ToolError(`"${name}" is no name of a tool: noun.verb`);
  }
  if (!Number.isInteger(version) || version < 1 || version > 2 ** 31 - 1) {
    throw new ToolError(`${name}: ${version} is no version`);
  }
  return tool as unknown as Tool;
}

export interface ToolRegistry {
  /** The tool of this name and version; without a version the newest. */
  find(name: string, version?: number): Tool | undefined;
  readonly names: readonly string[];
  /** What may be proposed: for people and for an AI, with JSON Schemas. */
  describe(): readonly ToolDescription[];
}

export interface ToolDescription {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  readonly risk: Risk;
  readonly input: object;
}

/** Puts a list of tools together. @throws ToolError where two have the same name and version. */
export function toolRegistry(tools: readonly Tool[]): ToolRegistry {
  const byKey = new Map<string, Tool>();
  const newest = new Map<string, Tool>();
  for (const tool of tools) {
    const key = `${tool.name}@${tool.version}`;
    if (byKey.has(key)) throw new ToolError(`${key} stands there twice`);
    byKey.set(key, tool);
    const known = newest.get(tool.name);
    if (!known || known.version < tool.version) newest.set(tool.name, tool);
  }
  return {
    find: (name, version) =>
      version === undefined ? newest.get(name) : byKey.get(`${name}@${version}`),
    names: [...newest.keys()].toSorted(),
    describe: () =>
      [...byKey.values()].map(({ name, version, description, risk, input }) => {
        const schema = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
        return { name, version, description, risk, input: schema };
      }),
  };
}
