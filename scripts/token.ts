// `npm run token -- --sub ada --scopes deliveries:read,deliveries:write [--days 1]`: prints a token
// that is signed by the key of this folder's service.
//
// - It needs no running service. Where there is no key it makes one, which the service will use.

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openOwnKeys } from '../services/http/own-keys.ts';
import { allScopes, isScope } from '../services/http/scopes.ts';
import { isMistakenArgument } from './mistaken-arguments.ts';

const usage = `npm run token -- --sub <who> --scopes <a,b,…|all> [--days <1 to 365>]

Scopes: ${allScopes.join(', ')}`;

class UsageError extends Error {}

function read(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { sub: text, scopes: text, days: text },
  });
  const { sub = '', scopes = '', days = '1' } = values;
  if (sub === '' || scopes === '') throw new UsageError('--sub and --scopes are needed');
  if (!/^\d{1,3}$/.test(days) || Number(days) < 1 || Number(days) > 365) {
    throw new UsageError('--days is a whole number from 1 to 365');
  }
  const named = scopes === 'all' ? allScopes : scopes.split(/[\s,]+/);
  const unknown = named.filter((each) => !isScope(each));
  if (unknown.length > 0) throw new UsageError(`no such scope: ${unknown.join(', ')}`);
  return { sub, scopes: named.filter(isScope), seconds: Number(days) * 86_400 };
}

try {
  const token = read(process.argv.slice(2));
  const keys = await openOwnKeys(resolve('.fencepost'));
  console.log(await keys.sign(token));
} catch (error) {
  if (!(error instanceof UsageError) && !isMistakenArgument(error)) throw error;
  console.error(`${error.message}\n\n${usage}`);
  process.exitCode = 1;
}
