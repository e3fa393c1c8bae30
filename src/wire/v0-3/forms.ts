/**
 * Task states and non-object data in the forms of A2A 0.3.
 *
 * @module
 */
import type { TaskState } from '../../core/lifecycle.js'
import type { Part } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import { shownState, STATES, TASK_STATES } from '../v1/objects.js'

/** Marks the data of a part as wrapped in `{value}`, because it is not an object. All official SDKs know it. */
export const WRAPPED = 'data_part_compat'

/** The state in ProtoJSON, which spells one differently from 1.0. JSON uses the core's names. */
export function protoState(state: TaskState): string {
  return state === 'canceled' ? 'TASK_STATE_CANCELLED' : STATES[shownState(state)]
}

/** The states by their names in both forms, with either spelling of `canceled`. */
export const CORE_STATES = new Map<string, TaskState>([
  ...TASK_STATES.flatMap((state): [string, TaskState][] => [
    [state, state],
    [protoState(state), state],
    [STATES[state], state],
  ]),
  ['cancelled', 'canceled'],
])

/** Reads the data of a part. Unwraps wrapped data, and the object that ProtoJSON has around it. */
export function fromData(given: JsonObject, metadata: JsonObject | undefined, hasNoKind: boolean): Part {
  const data = hasNoKind ? innerData(given) : given
  if (metadata?.[WRAPPED] !== true || !('value' in data)) {
    return { data, ...(metadata !== undefined && { metadata }) }
  }
  const rest = Object.entries(metadata).filter(([key]) => key !== WRAPPED)
  return { data: data['value'], ...(rest.length > 0 && { metadata: Object.fromEntries(rest) }) }
}

/** ProtoJSON nests the data of a part in another object: `{data: {data: {…}}}`. */
function innerData(given: JsonObject): JsonObject {
  const [key, ...others] = Object.keys(given)
  if (key !== 'data' || others.length > 0) return given
  const inner = given['data']
  return typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : given
}
