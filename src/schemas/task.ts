/**
 * Task, its status and its states.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { ArtifactSchema } from './artifact.js'
import { JsonObjectSchema } from './json.js'
import { MessageSchema } from './message.js'
import { list, nonEmptyString, object, oneOf, optional, timestamp } from './scalars.js'
import type { Infer, Schema } from './schema.js'

/** A2A 1.0 §4.1.3, without `TASK_STATE_UNSPECIFIED`, which is not the state of any task. */
export const TaskStateSchema = oneOf([
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
])
export type TaskState = Infer<typeof TaskStateSchema>

export function defineStatus(message: typeof MessageSchema, time: Schema<z.ZodMiniType<string, string>>) {
  return object({
    state: TaskStateSchema,
    message: optional(message),
    timestamp: optional(time),
  })
}

/** A2A 1.0 §4.1.2. */
export const TaskStatusSchema = defineStatus(MessageSchema, timestamp)
export type TaskStatus = Infer<typeof TaskStatusSchema>

export function defineTask(
  status: typeof TaskStatusSchema,
  artifact: typeof ArtifactSchema,
  message: typeof MessageSchema,
) {
  return object({
    id: nonEmptyString,
    contextId: optional(nonEmptyString),
    status,
    artifacts: optional(list(artifact)),
    history: optional(list(message)),
    metadata: optional(JsonObjectSchema),
  })
}

/** A2A 1.0 §4.1.1. */
export const TaskSchema = defineTask(TaskStatusSchema, ArtifactSchema, MessageSchema)
export type Task = Infer<typeof TaskSchema>
