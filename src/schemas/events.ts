/**
 * Stream events, push notifications, and the response to a message.
 *
 * @module
 */
import { ArtifactSchema } from './artifact.js'
import { JsonObjectSchema } from './json.js'
import { MessageSchema } from './message.js'
import { exactlyOneOf } from './one-of.js'
import { boolean, nonEmptyString, object, optional } from './scalars.js'
import { TaskSchema, TaskStatusSchema } from './task.js'
import type { Infer, Schema } from './schema.js'

/** `contextId`: some agents leave the context out. */
export function defineStatusUpdate<C extends Schema>(contextId: C, status: typeof TaskStatusSchema) {
  return object({ taskId: nonEmptyString, contextId, status, metadata: optional(JsonObjectSchema) })
}

/** A2A 1.0 §4.2.1. */
export const TaskStatusUpdateEventSchema = defineStatusUpdate(nonEmptyString, TaskStatusSchema)
export type TaskStatusUpdateEvent = Infer<typeof TaskStatusUpdateEventSchema>

export function defineArtifactUpdate<C extends Schema>(contextId: C, artifact: typeof ArtifactSchema) {
  return object({
    taskId: nonEmptyString,
    contextId,
    artifact,
    append: optional(boolean),
    lastChunk: optional(boolean),
    metadata: optional(JsonObjectSchema),
  })
}

/** A2A 1.0 §4.2.2. */
export const TaskArtifactUpdateEventSchema = defineArtifactUpdate(nonEmptyString, ArtifactSchema)
export type TaskArtifactUpdateEvent = Infer<typeof TaskArtifactUpdateEventSchema>

/** One event of a stream, or the body of a push notification (A2A 1.0 §3.2.3). */
export const StreamResponseSchema = exactlyOneOf(
  object({
    task: optional(TaskSchema),
    message: optional(MessageSchema),
    statusUpdate: optional(TaskStatusUpdateEventSchema),
    artifactUpdate: optional(TaskArtifactUpdateEventSchema),
  }),
  ['task', 'message', 'statusUpdate', 'artifactUpdate'],
)
export type StreamResponse = Infer<typeof StreamResponseSchema>

/** A2A 1.0 §3.1.1. */
export const SendMessageResponseSchema = exactlyOneOf(
  object({
    task: optional(TaskSchema),
    message: optional(MessageSchema),
  }),
  ['task', 'message'],
)
export type SendMessageResponse = Infer<typeof SendMessageResponseSchema>
