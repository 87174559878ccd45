// Gives a copied database what does not come along with a template: owner, grants, connection limit
// and the settings of ALTER DATABASE SET and ALTER ROLE … IN DATABASE.
// Source: PostgreSQL manual, 22.3 Template Databases; dumpDatabaseConfig in pg_dump.

import type { BranchSession } from './branch-session.ts';
import { identifier, literal } from './print.ts';

/** Settings whose value is a list of names, stored with each name quoted where it has to be. */
const lists = [
  'local_preload_libraries',
  'search_path',
  'session_preload_libraries',
  'shared_preload_libraries',
  'temp_tablespaces',
  'unix_socket_directories',
];

/** The names in such a list. */
function namesIn(stored: string): readonly string[] {
  const found = stored.matchAll(/\s*(?:"((?:[^"]|"")*)"|([^",\s][^",]*?))\s*(?:,|$)/g);
  return [...found].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
}

function settingText(setting: string): string {
  const at = setting.indexOf('=');
  const [name, value] = [setting.slice(0, at), setting.slice(at + 1)];
  const values = lists.includes(name.toLowerCase()) ? namesIn(value) : [value];
  return `set ${identifier(name)} to ${values.map(literal).join(', ')}`;
}

interface Looks {
  readonly owner: string;
  readonly connections: number;
  readonly has_grants: boolean;
}
interface Grant {
  readonly grantee: string | null;
  readonly privilege: string;
  readonly grantable: boolean;
}
interface Setting {
  readonly role: string | null;
  readonly setting: string;
}

/** Dresses the copy like the other database. Doing it again changes nothing. */
export async function dress(session: BranchSession, copy: string, like: string): Promise<void> {
  const name = identifier(copy);
  const [looks] = await session.query<Looks & { oid: number }>(
    `select oid, pg_get_userbyid(datdba)::text as owner, datconnlimit as connections,
       datacl is not null as has_grants
     from pg_database where datname::text = $1`,
    [like],
  );
  if (!looks) return;
  const grants = await session.query<Grant>(
    `select r.rolname::text as grantee, a.privilege_type as privilege, a.is_grantable as grantable
     from pg_database d cross join lateral aclexplode(d.datacl) a
       left join pg_roles r on r.oid = a.grantee
     where d.oid = $1`,
    [looks.oid],
  );
  const settings = await session.query<Setting>(
    `select r.rolname::text as role, c.setting
     from pg_db_role_setting s left join pg_roles r on r.oid = s.setrole
       cross join lateral unnest(s.setconfig) as c(setting)
     where s.setdatabase = $1`,
    [looks.oid],
  );
  const owner = identifier(looks.owner);
  const statements = [
    `alter database ${name} owner to ${owner}`,
    `alter database ${name} connection limit ${looks.connections}`,
    ...(looks.has_grants ? [`revoke all on database ${name} from public, ${owner}`] : []),
    ...grants.map(({ grantee, privilege, grantable }) => {
      const to = grantee === null ? 'public' : identifier(grantee);
      return `grant ${privilege} on database ${name} to ${to}${grantable ? ' with grant option' : ''}`;
    }),
    ...settings.map(({ role, setting }) => {
      const whose = role === null ? '' : `role ${identifier(role)} in `;
      return `alter ${whose}database ${name} ${settingText(setting)}`;
    }),
  ];
  for (const statement of statements) await session.query(statement);
}
