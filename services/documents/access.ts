// Who may do what with a document. What an actor has no access to is not there.
//
// | | reader | editor | owner |
// |---|---|---|---|
// | read, follow, list revisions | yes | yes | yes |
// | save, rename, name and restore revisions | no | yes | yes |
// | delete, bring back, grant | no | no | yes |

import type { Access } from '../../kinds/wire.ts';
import type { Database } from '../../persistence/database.ts';
import { readAccess } from '../../persistence/documents.ts';
import { printInstant } from '../../persistence/instant.ts';

export type Need = 'read' | 'edit' | 'own';

export interface Gone {
  readonly outcome: 'gone';
  readonly at: string;
  readonly by: string;
}

export type Denied =
  | { readonly outcome: 'missing' }
  | Gone
  | { readonly outcome: 'read_only' }
  | { readonly outcome: 'owner_only' };

export interface Permitted {
  readonly outcome: 'permitted';
  readonly access: Access;
  readonly version: number;
}

/** Whom to ask about: a document, and the principal who wants something with it. */
export interface Asked {
  readonly id: string;
  readonly actor: string;
}

const needed: Readonly<Record<Need, readonly Access[]>> = {
  read: ['owner', 'editor', 'reader'],
  edit: ['owner', 'editor'],
  own: ['owner'],
};

export interface Standing {
  readonly access: Access;
  readonly deleted_at: number | null;
  readonly deleted_by: string | null;
}

export function goneSince({ deleted_at: at, deleted_by: by }: Standing): Gone | undefined {
  return at === null ? undefined : { outcome: 'gone', at: printInstant(at), by: by ?? '' };
}

/** Says why the actor may not; undefined where nothing is in the way. */
export function denial(standing: Standing | undefined, need: Need): Denied | undefined {
  if (!standing) return { outcome: 'missing' };
  const gone = goneSince(standing);
  if (gone) return gone;
  if (needed[need].includes(standing.access)) return undefined;
  return { outcome: need === 'own' ? 'owner_only' : 'read_only' };
}

/** Asks what the actor may do with a document now. */
export async function permit(
  db: Database['db'],
  { id, actor }: Asked,
  need: Need,
): Promise<Permitted | Denied> {
  const row = await readAccess(db, id, actor);
  const denied = denial(row, need);
  if (denied || !row) return denied ?? { outcome: 'missing' };
  return { outcome: 'permitted', access: row.access, version: row.version };
}
