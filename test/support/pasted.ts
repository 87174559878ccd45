// The commands of a document, pasted as they stand there into a shell in the service's folder.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';

/** The blocks of code without a language, which are commands, in order. */
export function blocksOf(path: string): readonly string[] {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)];
  return blocks.flatMap(([, language, block = '']) => (language === '' ? [block] : []));
}

export const isCurl = (block: string): boolean => block.startsWith('curl ');

const answer = z.looseObject({ id: z.string().optional(), planHash: z.string().optional() });
type Answer = z.output<typeof answer>;

/** What a reader does: pastes one command after the other, with what the last answers said. */
export function reader(url: string, folder: string) {
  const known = new Map<string, string>();
  async function paste(block: string): Promise<string> {
    const command = [...known].reduce(
      (text, [name, value]) => text.replaceAll(`<${name}>`, value),
      block.replaceAll('http://127.0.0.1:3000', url),
    );
    const strict = command.replaceAll('curl ', 'curl --fail-with-body ');
    const { stdout } = await promisify(execFile)('bash', ['-c', strict], { cwd: folder });
    return stdout;
  }
  return {
    paste,
    /** Pastes a command that answers with JSON. */
    async ask(block = ''): Promise<Answer> {
      const read = answer.parse(JSON.parse(await paste(block)));
      if (read.id !== undefined) known.set('id', read.id);
      if (read.planHash !== undefined) known.set('planHash', read.planHash);
      return read;
    },
  };
}
