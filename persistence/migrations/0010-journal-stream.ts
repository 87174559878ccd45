// What a stream over all runs of a machine reads by (persistence/transitions.ts).

export const journalStream = {
  name: '0010-journal-stream',
  // By the transaction alone: its rows are few, and a new entry is always the last of the index.
  statements: ['create index journal_xact on fencepost.journal (xact)'],
};
