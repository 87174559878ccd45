// What we use of tar-fs, which brings no types.

declare module 'tar-fs' {
  import type { Writable } from 'node:stream';
  /** Unpacks what is written to it into the folder. */
  export function extract(folder: string): Writable;
}
