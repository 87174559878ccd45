// Server-sent events over fetch, which can carry an Authorization header where EventSource cannot.
// Source: HTML Living Standard, 9.2.6 "Interpreting an event stream".

import type { OpenStream, StreamHandlers } from './environment.ts';

/** Takes the stream's text in pieces, as they come, and calls for every whole event. */
export function eventParser(heard: StreamHandlers['heard']): (piece: string) => void {
  let rest = '';
  let type = '';
  let data: string[] = [];
  const line = (text: string) => {
    if (text === '') {
      if (data.length > 0) heard({ type: type || 'message', data: data.join('\n') });
      type = '';
      data = [];
      return;
    }
    const colon = text.indexOf(':');
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') type = value;
    if (field === 'data') data.push(value);
  };
  return (piece) => {
    rest += piece;
    // A carriage return at the end may be half of a line end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const each of lines) line(each);
  };
}

export const openStream: OpenStream = (url, headers, { opened, heard, lost }) => {
  const stop = new AbortController();
  const run = async () => {
    const answer = await fetch(url, {
      headers: { ...headers, accept: 'text/event-stream' },
      redirect: 'manual',
      cache: 'no-store',
      signal: stop.signal,
    });
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream');
    if (!answer.ok || !isStream || !answer.body) return;
    opened();
    const parse = eventParser(heard);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parse(value);
    }
  };
  const ended = () => {
    if (!stop.signal.aborted) lost();
  };
  run().then(ended, ended);
  return () => stop.abort();
};
