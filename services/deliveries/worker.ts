// What a worker does with deliveries of one channel: asks the channel to send, and says with which
// event of the outbox that ended. server.ts starts one worker a channel; services/runs runs it.
//
// - A channel that is cooled down is not asked, and nothing is claimed for it. A delivery to a
//   cooled destination is put off with what is left, without being sent: once, when it is met.
// - What an answer says about others is written in the transaction of the delivery's own end.
// - Who must stop at once gives back what no receiver can have heard of.
// - A receipt that cannot be stored is left out. It must never be why a message is sent twice.

import type { Logger } from 'pino';
import { outbox } from '../../machines/outbox.ts';
import type { Run } from '../../machines/status-machine.ts';
import { coolDown } from '../../persistence/cool-downs.ts';
import type { Database } from '../../persistence/database.ts';
import { storable } from '../../persistence/text.ts';
import { afterCommit, type Tx } from '../../persistence/transaction.ts';
import { describeError } from '../describe-error.ts';
import { type Beside, type End, type RunContext, StopError, type Work } from '../runs/work.ts';
import type { Channel, CoolDownRequest, SendResult } from './channel.ts';
import { coolDownNames } from './cool-downs.ts';
import { cooledNames } from './cooled.ts';

export interface DeliveryWorkOptions {
  readonly database: Database;
  readonly channel: Channel;
  readonly log: Logger;
  /** How old what is known of cool-downs may be. */
  readonly coolDownAgeMs?: number;
}

type Delivery = Run<typeof outbox>;
type DeliveryEnd = End<typeof outbox>;

const dayMs = 86_400_000;
const longestError = 2000;

/** What the event takes: a whole number, at most a day, which the machine caps as well. */
const wait = (ms: number): number => Math.ceil(Math.min(Math.max(0, ms), dayMs));

export function deliveryWork(options: DeliveryWorkOptions): Work<typeof outbox> {
  const { database, channel, log } = options;
  const cooled = cooledNames(database, channel, options.coolDownAgeMs);

  /** What is written beside the end, and known here from now on. */
  function cooling(recipient: string, request: CoolDownRequest): Beside {
    const { scope, ms, reason } = request;
    const destination = coolDownNames(channel, recipient)[scope];
    const written = cooled.add(destination, ms, reason);
    log.warn({ channel: channel.name, destination, ms, reason }, 'delivery: cooled down');
    const given = { channel: channel.name, destination, ms, reason };
    const key = JSON.stringify(given);
    async function write(tx: Tx): Promise<void> {
      await coolDown(tx, given);
      afterCommit(tx, key, written);
    }
    return { key, write };
  }

  function endOf(recipient: string, result: SendResult): DeliveryEnd {
    if (result.result === 'sent') return { event: 'sent', fields: { receipt: result.receipt } };
    const { error } = result;
    const beside = result.coolDown && cooling(recipient, result.coolDown);
    if (result.result === 'throttled') {
      const fields = { retry_after_ms: wait(result.waitMs), error };
      return { event: 'throttle', fields, ...(beside && { beside }) };
    }
    const { retryable, unknown, retryAfterMs } = result;
    const asked = retryAfterMs !== undefined && { retry_after_ms: wait(retryAfterMs) };
    const fields = { retryable, unknown, error, ...asked };
    return { event: 'fail', fields, ...(beside && { beside }) };
  }

  async function handle(delivery: Delivery, { signal }: RunContext): Promise<DeliveryEnd> {
    const { recipient, message_key: messageKey, payload, created_at: createdAt } = delivery;
    const found = cooled.of(recipient);
    if (found) {
      const error = storable(found.reason, longestError);
      return { event: 'throttle', fields: { retry_after_ms: wait(found.leftMs), error } };
    }
    const result = await channel.send({ recipient, messageKey, payload, createdAt }, signal);
    const stopped = signal.reason instanceof StopError;
    const isUnheard = result.result === 'failed' && result.retryable && !result.unknown;
    if (stopped && isUnheard && !result.coolDown) return { event: 'release' };
    return endOf(recipient, result);
  }

  return {
    name: channel.name,
    machine: outbox,
    claim: 'claim',
    where: { channel: channel.name },
    claimFields: ({ owner, leaseMs }) => ({ owner, lease_ms: leaseMs }),
    renew: (leaseMs) => ({ event: 'renew', fields: { lease_ms: leaseMs } }),
    release: { event: 'release' },
    notBefore: cooled.channelMs,
    handle,
    // A channel that throws is broken, and has perhaps sent all the same.
    onThrow: (error) => ({
      event: 'fail',
      fields: { retryable: true, unknown: true, error: describeError(error) },
    }),
    plainer(end) {
      if (end.event === 'sent') return { event: 'sent', fields: { receipt: null } };
      if (end.event !== 'fail' && end.event !== 'throttle') return undefined;
      const error = storable(String(end.fields.error ?? ''), longestError);
      if (end.event === 'throttle') return { event: 'throttle', fields: { ...end.fields, error } };
      return { event: 'fail', fields: { ...end.fields, error } };
    },
    onEnded({ id, fence }, end, outcome) {
      const about = { delivery: id, attempt: fence };
      if (end.event !== 'fail' && end.event !== 'throttle') {
        log.debug(about, `delivery: ${end.event}`);
        return;
      }
      const { status, failures } = outcome.after;
      const { error } = end.fields;
      log.info({ ...about, status, failures, error }, `delivery: ${end.event}`);
    },
  };
}
