// `fencepost/client/testing`: faults to test an application's own editor with. A server that holds,
// drops and lies, storages that fail, pages that are frozen and killed, and a clock that waits.

export { type FakeBrowser, type FakePage, fakeBrowser } from './fake-browser.ts';
export { type FakeStorage, fakeMirror, fakeStorage, securityError } from './fake-storage.ts';
export { type ManualClock, manualClock, settle } from './manual-clock.ts';
export {
  type Fault,
  gate,
  type Logged,
  type ScriptedServer,
  scriptedServer,
} from './scripted-server.ts';
export { type Revision, type WireServer, wireServer } from './wire-server.ts';
