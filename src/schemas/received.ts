/**
 * The objects that agents answer with, by the same definitions as everywhere and by lenient rules.
 *
 * @module
 */
import { defineArtifact } from './artifact.js'
import { TaskArtifactUpdateEventSchema, TaskStatusUpdateEventSchema } from './events.js'
import { defineMessage } from './message.js'
import { definePart } from './part.js'
import { TaskPushNotificationConfigSchema } from './push.js'
import { LENIENT } from './rules.js'
import { list, nonEmptyString, number, object, optional, string } from './scalars.js'
import { defineStatus, defineTask } from './task.js'

const ReceivedPartSchema = definePart(LENIENT)
export const ReceivedMessageSchema = defineMessage(ReceivedPartSchema, LENIENT)
export const ReceivedArtifactSchema = defineArtifact(ReceivedPartSchema, LENIENT)
const ReceivedStatusSchema = defineStatus(ReceivedMessageSchema, LENIENT)
export const ReceivedTaskSchema = defineTask(
  ReceivedStatusSchema,
  ReceivedArtifactSchema,
  ReceivedMessageSchema,
)

// Some agents leave the context out of their events.
const contextId = optional(nonEmptyString)

export const ReceivedStatusUpdateSchema = object({
  ...TaskStatusUpdateEventSchema.shape,
  contextId,
  status: ReceivedStatusSchema,
})

export const ReceivedArtifactUpdateSchema = object({
  ...TaskArtifactUpdateEventSchema.shape,
  contextId,
  artifact: ReceivedArtifactSchema,
})

/** `ListTasksResponse` as far as a client needs it: 0.3 has nothing but the tasks. */
export const ReceivedTaskPageSchema = object({
  tasks: list(ReceivedTaskSchema),
  nextPageToken: string,
  totalSize: optional(number),
})

export const ReceivedPushConfigPageSchema = object({
  configs: list(TaskPushNotificationConfigSchema),
  nextPageToken: string,
})
