// What a channel is: one way to reach a recipient. The delivery loop calls it; each channel is a
// file beside this one.

/** What is sent, as it was frozen when the delivery was enqueued. The same for every attempt. */
export interface Message {
  readonly recipient: string;
  /** The receiver sees it with every attempt, and can drop a duplicate by it. */
  readonly messageKey: string;
  readonly payload: string;
  /** Whole microseconds since 1970. */
  readonly createdAt: number;
}

export interface Sent {
  readonly result: 'sent';
  /** What the receiver said. Bounded, and text that Postgres can store. */
  readonly receipt: Readonly<Record<string, string>>;
}

export interface Failed {
  readonly result: 'failed';
  /** The same message may be accepted later. */
  readonly retryable: boolean;
  /** The whole message went out and no answer came: the receiver may have it. */
  readonly unknown: boolean;
  readonly error: string;
  /** How long the receiver asked to wait, if it did. */
  readonly retryAfterMs?: number;
  readonly coolDown?: CoolDownRequest;
}

/** The receiver asked to wait, and said nothing against the message: not a failure. */
export interface Throttled {
  readonly result: 'throttled';
  readonly waitMs: number;
  readonly error: string;
  readonly coolDown?: CoolDownRequest;
}

/** What the answer says about others beside this message. cool-downs.ts names each scope. */
export interface CoolDownRequest {
  /** The whole channel, all that goes to the same destination, or this recipient alone. */
  readonly scope: 'channel' | 'destination' | 'recipient';
  /** Null: until a person lifts it, as for an endpoint that is gone. */
  readonly ms: number | null;
  readonly reason: string;
}

export type SendResult = Sent | Failed | Throttled;

export interface Channel {
  readonly name: string;
  /**
   * `idempotent`: the receiver drops a second message with the same key, by its own documented
   * promise. A key that a receiver may ignore makes a channel `at-least-once`.
   */
  readonly effect: 'at-least-once' | 'idempotent';
  /** What of a recipient is cooled down together: the domain of an address, the origin of a URL. */
  destinationOf(recipient: string): string;
  /**
   * Sends one message and says how that went; never throws for a refusal or a lost connection.
   * Settles soon after the signal is aborted, with what is known by then.
   */
  send(message: Message, signal: AbortSignal): Promise<SendResult>;
}
