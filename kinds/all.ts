// The kinds of documents that this service knows.

import type { Kind } from './kind.ts';
import { record } from './record.ts';
import { spreadsheet } from './spreadsheet.ts';

export const kinds: readonly Kind[] = [spreadsheet, record];

/** The kind of this name; undefined where this process knows none. */
export const kindCalled = (id: string): Kind | undefined => kinds.find((kind) => kind.id === id);
