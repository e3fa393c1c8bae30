/**
 * The task, its status and its states.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { ArtifactSchema } from './artifact.js'
import { JsonObjectSchema } from './json.js'
import { MessageSchema } from './message.js'
import { list, nonEmptyString, object, oneOf, optional, timestamp } from './scalars.js'

/** A2A 1.0 §4.1.3, without `TASK_STATE_UNSPECIFIED`, which no task is in. */
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
export type TaskState = z.infer<typeof TaskStateSchema>

/** A2A 1.0 §4.1.2. */
export const TaskStatusSchema = object({
  state: TaskStateSchema,
  message: optional(MessageSchema),
  timestamp: optional(timestamp),
})
export type TaskStatus = z.infer<typeof TaskStatusSchema>

/** A2A 1.0 §4.1.1. */
export const TaskSchema = object({
  id: nonEmptyString,
  contextId: optional(nonEmptyString),
  status: TaskStatusSchema,
  artifacts: optional(list(ArtifactSchema)),
  history: optional(list(MessageSchema)),
  metadata: optional(JsonObjectSchema),
})
export type Task = z.infer<typeof TaskSchema>
