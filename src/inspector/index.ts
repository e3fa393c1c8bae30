/**
 * A page to see tasks and act on them, with `createInspector`, as one fetch handler.
 *
 * @module
 */
export { createInspector, type Inspector } from './inspector.js'
export type {
  InspectedGateway,
  InspectedHandler,
  InspectedSchedules,
  InspectedTasks,
  InspectorOptions,
} from './options.js'
export type { Authorize, InspectorAccess, InspectorAction, InspectorAudit } from './access.js'
