// A client of event streams for tests: it reads what a browser's EventSource would see, and checks
// the data of each event by its route's schema.

import type { EventRoute } from '../../services/http/route.ts';

export interface Received {
  readonly event: string;
  readonly data: unknown;
  readonly id: string | undefined;
}

interface Block {
  readonly fields: Readonly<Record<string, string>>;
}

async function* blocksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Block> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const lines = rest.slice(0, end).split('\n');
      rest = rest.slice(end + 2);
      const fields = lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2));
      yield { fields: Object.fromEntries(fields) };
    }
  }
}

/** Reads a stream of a route. */
export function readEvents(route: EventRoute, response: Response) {
  const { body } = response;
  if (!body) throw new Error('the answer has no body');
  const retries: number[] = [];
  const blocks = blocksOf(body);

  /** The next event; undefined when the stream has ended. */
  async function next(): Promise<Received | undefined> {
    for (;;) {
      const { value, done } = await blocks.next();
      if (done) return undefined;
      const { fields } = value;
      if (fields['retry'] !== undefined) retries.push(Number(fields['retry']));
      if (fields['data'] === undefined) continue;
      const event = fields['event'] ?? 'message';
      const schema = route.events[event];
      if (!schema) throw new Error(`${route.path} sends an undeclared event "${event}"`);
      const data: unknown = JSON.parse(fields['data']);
      schema.parse(data);
      return { event, data, id: fields['id'] };
    }
  }

  return { next, retries };
}
