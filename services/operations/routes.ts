// The HTTP API of branches and of the operations on them.

import type { Route } from '../http/route.ts';
import { type BranchRoutesOptions, branchRoutes } from './branch-routes.ts';
import { type OperationRoutesOptions, operationRoutes } from './operation-routes.ts';

export type BranchesOptions = BranchRoutesOptions & OperationRoutesOptions;

export const branchesRoutes = (options: BranchesOptions): readonly Route[] => [
  ...branchRoutes(options),
  ...operationRoutes(options),
];
