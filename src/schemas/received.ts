/**
 * Objects in the responses of agents: the shared definitions with lenient rules.
 *
 * @module
 */
import { defineArtifact } from './artifact.js'
import { defineArtifactUpdate, defineStatusUpdate } from './events.js'
import { defineMessage } from './message.js'
import { definePart } from './part.js'
import { TaskPushNotificationConfigSchema } from './push.js'
import { LENIENT } from './rules.js'
import { list, nonEmptyString, number, object, optional, string } from './scalars.js'
import { defineStatus, defineTask } from './task.js'

const ReceivedPartSchema = definePart(LENIENT)
export const ReceivedMessageSchema = defineMessage(ReceivedPartSchema, LENIENT)
const ReceivedArtifactSchema = defineArtifact(ReceivedPartSchema, LENIENT)
// Any text: a time is shown, and not computed with.
const ReceivedStatusSchema = defineStatus(ReceivedMessageSchema, string)
export const ReceivedTaskSchema = defineTask(
  ReceivedStatusSchema,
  ReceivedArtifactSchema,
  ReceivedMessageSchema,
)

// Some agents leave the context out of their events.
const contextId = optional(nonEmptyString)

export const ReceivedStatusUpdateSchema = defineStatusUpdate(contextId, ReceivedStatusSchema)
export const ReceivedArtifactUpdateSchema = defineArtifactUpdate(contextId, ReceivedArtifactSchema)

/** The fields of `ListTasksResponse` that a client reads. 0.3 sends the tasks only. */
export const ReceivedTaskPageSchema = object({
  tasks: list(ReceivedTaskSchema),
  nextPageToken: string,
  totalSize: optional(number),
})

export const ReceivedPushConfigPageSchema = object({
  configs: list(TaskPushNotificationConfigSchema),
  nextPageToken: string,
})
