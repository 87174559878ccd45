// Checks proposed steps against their tools, before anything is stored: each problem with its step
// and a JSON pointer into the request.

import type { StoredStep } from '../../persistence/proposals.ts';
import { argumentsFault, canonicalText } from './plan.ts';
import { type NewStep, type Risk, risks, type ToolRegistry } from './tools.ts';

export const mostSteps = 100;

export interface PlanProblem {
  /** Null where it is the plan that is wrong, and not one step. */
  readonly step: number | null;
  /** Into `{ steps: […] }`. Source: RFC 6901. */
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

export type CheckedSteps =
  | { readonly steps: readonly StoredStep[]; readonly risk: Risk }
  | { readonly problems: readonly PlanProblem[] };

const escaped = (part: PropertyKey) => String(part).replaceAll('~', '~0').replaceAll('/', '~1');
const mostProblems = 100;

function checkStep(tools: ToolRegistry, step: NewStep, index: number) {
  const pointer = `/steps/${index}`;
  const problem = (place: string, code: string, detail: string): PlanProblem => ({
    step: index,
    pointer: `${pointer}${place}`,
    code,
    detail,
  });
  const tool = tools.find(step.tool, step.version);
  if (!tool) {
    const isKnown = tools.find(step.tool) !== undefined;
    const found = isKnown
      ? problem('/version', 'unknown_version', `"${step.tool}" has no version ${step.version}.`)
      : problem(
          '/tool',
          'unknown_tool',
          `There is no tool "${step.tool}". Known: ${tools.names.join(', ')}.`,
        );
    return { problems: [found] };
  }
  const fault = argumentsFault(step.arguments);
  if (fault) {
    return { problems: [problem('/arguments', fault, `These are no arguments: ${fault}.`)] };
  }
  const read = tool.input.safeParse(step.arguments);
  if (!read.success) {
    const problems = read.error.issues.map((issue) => {
      const { params } = issue as { readonly params?: { readonly code?: string } };
      const place = issue.path.map((part) => `/${escaped(part)}`).join('');
      return problem(`/arguments${place}`, params?.code ?? issue.code, issue.message);
    });
    return { problems };
  }
  const text = canonicalText(step.arguments);
  return { stored: { tool: tool.name, version: tool.version, arguments: text }, risk: tool.risk };
}

const gravest = (all: readonly Risk[]): Risk =>
  risks.findLast((risk) => all.includes(risk)) ?? 'low';

/** Checks the steps of a plan. With problems nothing is to be stored. */
export function checkSteps(tools: ToolRegistry, steps: readonly NewStep[]): CheckedSteps {
  if (steps.length < 1 || steps.length > mostSteps) {
    const detail = `A plan has from 1 to ${mostSteps} steps, not ${steps.length}.`;
    return { problems: [{ step: null, pointer: '/steps', code: 'bad_length', detail }] };
  }
  const checked = steps.map((step, index) => checkStep(tools, step, index));
  const problems = checked.flatMap((each) => each.problems ?? []);
  if (problems.length > 0) return { problems: problems.slice(0, mostProblems) };
  return {
    steps: checked.flatMap(({ stored }) => stored ?? []),
    risk: gravest(checked.flatMap(({ risk }) => risk ?? [])),
  };
}

/** The graver of two risks: who proposes may call a plan graver than its steps, never less. */
export const graver = (a: Risk, b: Risk): Risk => gravest([a, b]);
