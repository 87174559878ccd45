// What the scripts tell of arguments that they do not know: a line, and their usage, not a stack.

/** Whether `parseArgs` threw this because of what somebody wrote. It is a TypeError with a code. */
export function isMistakenArgument(error: unknown): error is TypeError {
  const code = error instanceof TypeError ? (error as NodeJS.ErrnoException).code : undefined;
  return code?.startsWith('ERR_PARSE_ARGS') ?? false;
}
