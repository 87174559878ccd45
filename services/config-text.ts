// What each variable of the configuration is for, and the two documents that are made of that and
// of the schema: docs/configuration.md and .env.example.

import { z } from 'zod';
import { variables } from './config.ts';
import { markdownTable } from './markdown-table.ts';

interface Text {
  readonly is: string;
  /** What holds where it is not set and has no default. */
  readonly absent?: string;
  readonly group: string;
}

const [where, who, deliveries, plans, branches, pace] = [
  'Where',
  'Who asks',
  'Deliveries',
  'Plans',
  'Database branches',
  'Pace',
];

const texts: Readonly<Record<keyof typeof variables.shape, Text>> = {
  HOST: { group: where, is: 'The address to listen on. Beyond this machine only behind TLS.' },
  PORT: { group: where, is: 'The port to listen on; 0 is any free one.' },
  DATABASE_URL: {
    group: where,
    is: 'A Postgres of version 15 or later. Any number of processes may share it.',
    absent: 'the embedded Postgres',
  },
  CONNECTIONS: {
    group: where,
    is: 'Connections to it at most; one that listens, and one a branch operation, come on top.',
  },
  LOG_LEVEL: { group: where, is: 'How much is logged.' },
  AUTH_JWKS_URL: {
    group: who,
    is: "Where the identity provider's public keys are.",
    absent: "the service's own key in `.fencepost/`",
  },
  AUTH_ISSUER: { group: who, is: 'The issuer of tokens. Needed with AUTH_JWKS_URL.' },
  AUTH_AUDIENCE: { group: who, is: 'The audience of tokens. Needed with AUTH_JWKS_URL.' },
  AUTH_ALGORITHM: { group: who, is: 'The one algorithm of tokens that is taken.', absent: 'RS256' },
  SMTP_URL: { group: deliveries, is: 'Where mail goes.', absent: 'the development mailbox' },
  MAIL_FROM: { group: deliveries, is: 'Who mail is from. Frozen into each mail.' },
  WEBHOOK_SECRET: {
    group: deliveries,
    is: '`whsec_` and 24 to 64 bytes in base64; several, by blanks, sign side by side.',
    absent: 'no webhooks',
  },
  WEBHOOK_ALLOWED_RANGES: {
    group: deliveries,
    is: 'Ranges that are not public and may be reached all the same, as 127.0.0.0/8.',
    absent: 'none',
  },
  SEND_TIMEOUT_MS: {
    group: deliveries,
    is: 'How long one send may take; at most LEASE_MS less HEARTBEAT_MS.',
  },
  PLAN_LEASE_MS: {
    group: plans,
    is: 'How long the executor of a plan is taken for alive after its last step.',
  },
  TOOL_TIMEOUT_MS: {
    group: plans,
    is: 'How long one tool may take; less than a sixth of PLAN_LEASE_MS, and less than 20000.',
  },
  PLAN_CONCURRENCY: { group: plans, is: 'How many plans a process executes at once.' },
  FOUR_EYES: {
    group: plans,
    is: '`never`, `high-risk` or `always`: when who approves a plan must not be who proposed it.',
  },
  PREVIEW_TIMEOUT_MS: { group: plans, is: 'How long the preview of a plan may take.' },
  PREVIEW_LOCK_TIMEOUT_MS: {
    group: plans,
    is: 'How long a preview waits for a lock that somebody holds.',
  },
  BRANCHES: {
    group: branches,
    is: '`postgres`, `neon` or `none`: whose database branches.',
    absent: '`neon` with a key of it, else `postgres` on the embedded server and `none` on yours',
  },
  NEON_API_KEY: { group: branches, is: 'The key of Neon. Never logged.' },
  NEON_PROJECT_ID: { group: branches, is: 'The project of Neon. Needed with its key.' },
  NEON_API_URL: { group: branches, is: 'Another address of that API.', absent: "Neon's own" },
  OPERATION_LEASE_MS: {
    group: branches,
    is: 'How long a worker of branch operations may be silent before another takes over.',
  },
  OPERATION_DEADLINE_MS: {
    group: branches,
    is: 'How long an operation may take from its claim on.',
  },
  LEASE_MS: {
    group: pace,
    is: 'How long an owner is taken for alive. The limits of transactions are scaled below it.',
  },
  HEARTBEAT_MS: {
    group: pace,
    is: 'How often leases are renewed; at most half of LEASE_MS.',
    absent: 'a third of LEASE_MS',
  },
  POLL_MS: { group: pace, is: 'How often is looked for work without a wake-up.' },
  REAP_MS: { group: pace, is: 'How often is looked for lapsed leases.' },
  CONCURRENCY: { group: pace, is: 'Sends at once, a channel and process.' },
  BATCH: { group: pace, is: 'Deliveries claimed ahead, a channel and process, at most.' },
  SHUTDOWN_GRACE_MS: {
    group: pace,
    is: 'How long running sends and requests may take on a stop.',
  },
};

type Name = keyof typeof texts;

function fallbackOf(name: Name): string {
  const schema: z.ZodType = variables.shape[name];
  const value = schema instanceof z.ZodDefault ? String(schema.def.defaultValue) : '';
  return value;
}

const groups = [...new Set(Object.values(texts).map(({ group }) => group))];
const namesOf = (wanted: string): readonly Name[] =>
  (Object.keys(texts) as Name[]).filter((name) => texts[name].group === wanted);

function row(name: Name): readonly string[] {
  const { is, absent = 'not set' } = texts[name];
  const value = fallbackOf(name);
  return [`\`${name}\``, value === '' ? absent : `\`${value}\``, is];
}

const head = ['variable', 'default', 'what it is'];

/** Makes docs/configuration.md. */
export const configurationPage = (): string => `# Configuration

Made by \`npm run configuration\` of the schema that the service checks its environment with; a test compares
them. All are environment variables. They are checked at start, and every mistake is told at once, by the
variable's name and without its value. An empty variable counts as absent.

They are not read from a file by themselves. \`.env.example\` has them all; with a copy of it as \`.env\`:

\`\`\`
npm run prestart && node --env-file=.env --enable-source-maps dist/server.js
\`\`\`

${groups
  .map((each) => `## ${each}\n\n${markdownTable(head, namesOf(each).map(row))}\n`)
  .join('\n')}`;

/** Makes .env.example: every variable, as if it were not set. */
export function envExample(): string {
  const lines = groups.flatMap((each) => [
    `# ${each}`,
    '',
    ...namesOf(each).flatMap((name) => {
      const { is, absent = 'not set' } = texts[name];
      const value = fallbackOf(name);
      const without = value === '' ? ` Without it: ${absent}.` : '';
      return [`# ${is}${without}`.replaceAll('`', ''), `#${name}=${value}`, ''];
    }),
  ]);
  return `# Made by \`npm run configuration\`. docs/configuration.md says how to start with it.\n\n${lines.join('\n')}`;
}
