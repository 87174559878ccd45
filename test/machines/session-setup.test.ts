// Each action of the document session is asked for by the one event whose data it reads. The
// actions take that for granted: a question in each of them would be loaded by every page.

import { expect, it } from 'vitest';
import { documentSession } from '../../machines/document-session.ts';

/** What reads no event. */
const freeOfEvents = [
  ...['put', 'read', 'abandon', 'writeDraft', 'removeDraft', 'beginSave', 'beginFlush'],
  ...['retrySave', 'countRead', 'countFailure', 'shelve', 'applyChoice', 'dropChoice'],
  ...['beginDiscard', 'endDiscard', 'hold', 'release', 'forgetDraft'],
];

function eventsByAction(): ReadonlyMap<string, ReadonlySet<string>> {
  const asked = new Map<string, Set<string>>();
  const visit = (node: typeof documentSession.root): void => {
    const transitions = [...node.transitions.values(), node.always ?? []].flat();
    for (const { eventType, actions } of transitions) {
      for (const action of actions) {
        const name = typeof action === 'object' ? action.type : String(action);
        asked.set(name, (asked.get(name) ?? new Set()).add(eventType));
      }
    }
    for (const child of Object.values(node.states)) visit(child);
  };
  visit(documentSession.root);
  return asked;
}

it('an action that reads its event is asked for by that event alone', () => {
  const readers = [...eventsByAction()].filter(([action]) => !freeOfEvents.includes(action));
  expect(Object.fromEntries(readers.map(([action, events]) => [action, [...events]]))).toEqual({
    edit: ['edit'],
    noteStored: ['save.stored'],
    noteOvertaken: ['save.overtaken'],
    noteConflict: ['save.conflicted'],
    noteRefusal: ['save.refused'],
    noteUnclear: ['save.unclear'],
    noteForeign: ['version.announced'],
    noteRead: ['document.read'],
    conflictByRead: ['document.read'],
    takeOver: ['document.read'],
    signOut: ['signed.out'],
    loseAccess: ['access.lost'],
    loseDocument: ['document.gone'],
    choose: ['choose'],
    chooseLater: ['choose'],
    noteCopy: ['copy.stored'],
    noteAbandoned: ['saves.abandoned'],
    noteDraft: ['draft.written'],
    noteDraftTrouble: ['draft.failed'],
  });
});
