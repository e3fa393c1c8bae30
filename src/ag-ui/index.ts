/**
 * AG-UI: an agent of A2A for the front ends of AG-UI, such as CopilotKit. Nothing of AG-UI is imported.
 *
 * @module
 */
export { createAgUiHandler } from './handler.js'
export type { AgUiAgent, AgUiClient, AgUiOptions } from './options.js'
