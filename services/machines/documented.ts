// The machines that docs/machines/ has: those whose runs are rows, and the one of the browser.

import { machines } from '../../machines/all.ts';
import { documentSession } from '../../machines/document-session.ts';
import { type Sketch, sketchOf } from '../../machines/sketch.ts';
import { sketchOfStates } from '../../machines/sketch-states.ts';

export const documentedSketches: readonly Sketch[] = [
  ...machines.map(sketchOf),
  sketchOfStates(documentSession),
];
