/**
 * Names of spans, attributes and states: those of OpenTelemetry's draft conventions for A2A, or those of KAOS.
 *
 * @module
 */
import type { OtelAttributes } from './api.js'
import type { TaskState } from '../core/lifecycle.js'

export interface Names {
  /** An attribute of spans. */
  readonly taskId: string
  readonly state: string
  readonly from: string
  readonly contextId: string
  readonly agent: string
  /** An attribute of metrics. */
  readonly metricState: string
  /** Converts a state to an attribute value. */
  readonly stateOf: (state: string) => string
  /** The name of the span of a whole delegation. */
  readonly delegation: (agent: string) => string
}

const KAOS: Names = {
  taskId: 'task.id',
  state: 'task.state',
  from: 'task.previous_state',
  contextId: 'task.session_id',
  agent: 'agent.delegation.target',
  metricState: 'state',
  stateOf: (state) => state,
  delegation: (agent) => `delegate.${agent}`,
}

/** The values of the draft's `a2a.task.state`. States of a custom lifecycle are recorded unchanged. */
const STATES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    submitted: 'TASK_STATE_SUBMITTED',
    working: 'TASK_STATE_WORKING',
    'input-required': 'TASK_STATE_INPUT_REQUIRED',
    'auth-required': 'TASK_STATE_AUTH_REQUIRED',
    completed: 'TASK_STATE_COMPLETED',
    failed: 'TASK_STATE_FAILED',
    canceled: 'TASK_STATE_CANCELED',
    rejected: 'TASK_STATE_REJECTED',
  } satisfies Record<TaskState, string>),
)

const DRAFT: Names = {
  taskId: 'a2a.task.id',
  state: 'a2a.task.state',
  from: 'a2a.task.previous_state',
  contextId: 'gen_ai.conversation.id',
  agent: 'gen_ai.agent.name',
  metricState: 'a2a.task.state',
  stateOf: (state) => STATES.get(state) ?? state,
  delegation: (agent) => `invoke_agent ${agent}`,
}

/** The attributes that say where a URL leads to. */
export function addressOf(url: string): OtelAttributes {
  const { protocol, hostname, port } = new URL(url)
  const defaultPort = protocol === 'https:' ? 443 : 80
  return { 'server.address': hostname, 'server.port': port === '' ? defaultPort : Number(port) }
}

export function namesFor(prefix: string): Names {
  return prefix === 'kaos' ? KAOS : DRAFT
}
