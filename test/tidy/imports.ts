// Who may import whom. Imports point one way:
//
//   machines, kinds ← persistence ← services ← server.ts
//   machines, kinds ← client ← web
//
// - Inside services a domain imports the files of services/ itself and of http, runs and machines;
//   another domain only through a file that is listed here.
// - scripts, bench and test may import anything, and nothing imports them.

import { posix } from 'node:path';
import { only } from './lexer.ts';
import { isCode, roomOf, type SourceFile } from './tree.ts';

export interface Import {
  readonly from: string;
  /** A path from the root for our own files, else the name of a package. */
  readonly to: string;
}

// Not the word as a text of its own, as in ['from', 'to'].
const specifier = /(?<!['"])(?:\bfrom|\bimport)\s*\(?\s*(['"])([^'"]+)\1/g;

export function importsOf({ path, text }: SourceFile): readonly Import[] {
  const code = only(text, ['code', 'string']);
  return [...code.matchAll(specifier)].map(([, , name = '']) => ({
    from: path,
    to: name.startsWith('.') ? posix.join(posix.dirname(path), name) : name,
  }));
}

interface Room {
  readonly rooms: readonly string[];
  /** Packages: a list, or all but those of others. */
  readonly packages: readonly string[] | { readonly but: readonly string[] };
}

const sqlPackages = ['kysely', 'pg'];
const servicePackages = [
  ...['express', 'zod', 'pino', 'nodemailer', 'smtp-server', 'postal-mime'],
  ...['undici', 'ipaddr.js', 'standardwebhooks'],
  ...['jose', 'helmet', 'prom-client', 'swagger-ui-dist', 'zod-openapi', 'elkjs'],
];
const free = { but: [] };

const rooms: Readonly<Record<string, Room>> = {
  machines: { rooms: ['machines'], packages: ['xstate'] },
  kinds: { rooms: ['kinds'], packages: [] },
  persistence: {
    rooms: ['persistence', 'machines', 'kinds'],
    packages: { but: servicePackages },
  },
  services: {
    rooms: ['services', 'persistence', 'machines', 'kinds'],
    packages: { but: sqlPackages },
  },
  client: { rooms: ['client', 'machines', 'kinds'], packages: ['xstate'] },
  web: { rooms: ['web', 'client', 'machines', 'kinds'], packages: { but: sqlPackages } },
  '': { rooms: ['', 'services', 'persistence', 'machines', 'kinds'], packages: free },
};
/** These may import anything. */
const tools = ['scripts', 'bench', 'test'];

const packageOf = (name: string) =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');

function isAllowedPackage(room: Room, name: string): boolean {
  const asked = packageOf(name);
  if ('but' in room.packages) return !room.packages.but.includes(asked);
  return room.packages.includes(asked);
}

/** Folders of services/ that know no domain, so that every domain may import them. */
const frames = ['http', 'runs', 'machines'];
/** The one file through which another domain may be reached. */
const doors: readonly string[] = ['services/proposals/tools.ts'];

const domainOf = (path: string) => /^services\/([^/]+)\//.exec(path)?.[1];

function betweenDomains({ from, to }: Import): string | undefined {
  const [mine, other] = [domainOf(from), domainOf(to)];
  if (mine === undefined || other === undefined || mine === other) return undefined;
  if (frames.includes(other) && !frames.includes(mine)) return undefined;
  if (frames.includes(other) && frames.includes(mine)) return undefined;
  if (frames.includes(mine)) return `${from}: ${mine} knows no domain, ${to} is of one`;
  return doors.includes(to) ? undefined : `${from}: ${to} is another domain's own`;
}

/** Says which imports point the wrong way. */
export function wrongImports(files: readonly SourceFile[]): readonly string[] {
  return files.filter(isCode).flatMap((file) => {
    const room = rooms[roomOf(file.path)];
    if (tools.includes(roomOf(file.path))) return [];
    if (!room) return [`${file.path}: no rule says what ${roomOf(file.path)} may import`];
    return importsOf(file).flatMap((each) => {
      const domains = betweenDomains(each);
      if (domains !== undefined) return [domains];
      const ours = each.to.includes('/') && /\.(ts|tsx)$/.test(each.to);
      if (ours || /^[a-z-]+\.ts$/.test(each.to)) {
        const target = roomOf(each.to);
        return room.rooms.includes(target) ? [] : [`${each.from}: imports ${each.to}`];
      }
      const isNode = each.to.startsWith('node:');
      if (isNode) {
        const without = ['machines', 'kinds', 'client', 'web'].includes(roomOf(file.path));
        return without ? [`${each.from}: imports ${each.to}`] : [];
      }
      return isAllowedPackage(room, each.to) ? [] : [`${each.from}: imports ${each.to}`];
    });
  });
}

/** Finds the circles of imports between files, each once, by its files in order. */
export function circles(files: readonly SourceFile[]): readonly string[] {
  const targets = new Map(
    files.filter(isCode).map((file) => [file.path, importsOf(file).map(({ to }) => to)]),
  );
  const done = new Set<string>();
  const found = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const since = trail.indexOf(path);
    if (since >= 0) {
      const circle = trail.slice(since);
      const first = circle.indexOf(circle.toSorted()[0] ?? '');
      found.add([...circle.slice(first), ...circle.slice(0, first)].join(' → '));
      return;
    }
    if (done.has(path)) return;
    for (const to of targets.get(path) ?? []) visit(to, [...trail, path]);
    done.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return [...found];
}
