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
}

export interface Channel {
  readonly name: string;
  /** Whether the receiver itself drops a second message with the same key. */
  readonly effect: 'at-least-once' | 'idempotent';
  /**
   * Sends one message and says how that went; never throws for a refusal or a lost connection.
   * Settles soon after the signal is aborted, with what is known by then.
   */
  send(message: Message, signal: AbortSignal): Promise<Sent | Failed>;
}
