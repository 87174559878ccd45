// The sketches that every suite about pictures runs on: those of the machines that the generated
// suites run on, one of a machine that is not persisted, and those of the document session.

import { documentSession } from '../../machines/document-session.ts';
import { type Sketch, sketchOf } from '../../machines/sketch.ts';
import { overviewOf, partsOf } from '../../machines/sketch-parts.ts';
import { sketchOfStates } from '../../machines/sketch-states.ts';
import { svgOf } from '../../services/machines/svg.ts';
import { parcel } from '../machines/parcel.ts';
import { machineEntries } from './machines.ts';

const session = sketchOfStates(documentSession);
const sketches: readonly Sketch[] = [
  ...machineEntries.map(({ machine }) => sketchOf(machine)),
  sketchOfStates(parcel),
  overviewOf(session),
];

const named = (sketch: Sketch) => [sketch.id, sketch] as const;

/** For `it.each`: the name and the sketch, of those that have a Mermaid text too. */
export const wholeSketches = sketches.map(named);

/** Those, and the parts of a large one. */
export const namedSketches = [...sketches, ...partsOf(session)].map(named);

const pictures = new Map<Sketch, Promise<string>>();

/** The picture of a sketch, drawn once a file. */
export function pictureOf(sketch: Sketch): Promise<string> {
  const picture = pictures.get(sketch) ?? svgOf(sketch);
  pictures.set(sketch, picture);
  return picture;
}
