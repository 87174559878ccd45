/**
 * A process that owns an embedded Postgres until the test kills it. Takes the options as JSON,
 * writes one line of JSON once the server is ready, and stays.
 */
import { startEmbeddedPostgres } from '../../persistence/embedded-postgres.ts';

const server = await startEmbeddedPostgres(JSON.parse(process.argv[2] ?? ''));
process.stdout.write(
  `${JSON.stringify({ url: server.url, postmasterPid: server.postmasterPid })}\n`,
);
process.stdin.resume();
