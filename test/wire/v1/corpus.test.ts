import { readdirSync, readFileSync } from 'node:fs'
import { A2AError } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import type * as z from 'zod/mini'
import * as schemas from '../../../src/schemas/index.js'
import { check, v1 } from '../../../src/wire/index.js'

const { rpc, rest } = v1()
const ROOT = new URL('../corpus/1.0/', import.meta.url)

/** What is asked for becomes something of the core's. */
const REQUESTS: Readonly<Record<string, { readonly decode: (params: unknown) => object } | undefined>> = {
  SendMessageRequest: rpc.SendMessage,
  GetTaskRequest: rpc.GetTask,
  ListTasksRequest: rpc.ListTasks,
  CancelTaskRequest: rpc.CancelTask,
  SubscribeToTaskRequest: rpc.SubscribeToTask,
  TaskPushNotificationConfig: rpc.CreateTaskPushNotificationConfig,
  GetTaskPushNotificationConfigRequest: rpc.GetTaskPushNotificationConfig,
  ListTaskPushNotificationConfigsRequest: rpc.ListTaskPushNotificationConfigs,
  DeleteTaskPushNotificationConfigRequest: rpc.DeleteTaskPushNotificationConfig,
  GetExtendedAgentCardRequest: rpc.GetExtendedAgentCard,
}

/** What is answered is read as it is. */
const OBJECTS: Readonly<Record<string, z.ZodMiniType>> = {
  AgentCard: schemas.AgentCardSchema,
  Artifact: schemas.ArtifactSchema,
  JsonRpcRequest: schemas.JsonRpcRequestSchema,
  JsonRpcResponse: schemas.JsonRpcResponseSchema,
  ListTasksResponse: schemas.ListTasksResponseSchema,
  Message: schemas.MessageSchema,
  Part: schemas.PartSchema,
  SendMessageResponse: schemas.SendMessageResponseSchema,
  StreamResponse: schemas.StreamResponseSchema,
  Task: schemas.TaskSchema,
  TaskArtifactUpdateEvent: schemas.TaskArtifactUpdateEventSchema,
  TaskStatus: schemas.TaskStatusSchema,
  TaskStatusUpdateEvent: schemas.TaskStatusUpdateEventSchema,
}

interface Example {
  readonly wire: unknown
  /** What a request becomes. An object stays what it is. */
  readonly core?: object
  /** Without a reason where how it reads is up to `check`. */
  readonly error?: { readonly path: string; readonly reason?: string }
}

function examples(folder: string): [name: string, example: Example][] {
  return readdirSync(new URL(`${folder}/`, ROOT)).map((name) => {
    const text = readFileSync(new URL(`${folder}/${name}`, ROOT), 'utf8')
    return [name, JSON.parse(text) as Example]
  })
}

function outcome(read: () => unknown): { core?: unknown; error?: object } {
  try {
    return { core: read() }
  } catch (error) {
    if (A2AError.is(error, 'INVALID_PARAMS')) return { error: error.data }
    throw error
  }
}

test('every folder has a reader, every example says whether it is valid', () => {
  const readers = [...Object.keys(REQUESTS), ...Object.keys(OBJECTS)].sort()
  expect(readdirSync(ROOT).sort()).toEqual(readers)
  for (const folder of readers) {
    for (const [name, { error }] of examples(folder)) {
      expect(name).toMatch(error === undefined ? /^valid-/ : /^invalid-/)
    }
  }
})

describe.each(Object.keys(REQUESTS))('%s', (folder) => {
  test.each(examples(folder))('%s', (_name, { wire, core, error }) => {
    const got = outcome(() => REQUESTS[folder]?.decode(wire))
    if (error === undefined) expect(got).toStrictEqual({ core })
    else expect(got).toMatchObject({ error })
  })
})

describe.each(Object.entries(OBJECTS))('%s', (folder, schema) => {
  test.each(examples(folder))('%s', (_name, { wire, error }) => {
    const got = outcome(() => check(schema, wire))
    if (error === undefined) expect(got).toStrictEqual({ core: wire })
    else expect(got).toMatchObject({ error })
  })
})

test('a message is said again as it was read', () => {
  const { SendMessage } = rpc
  if (SendMessage === undefined) throw new Error('There is no codec')
  for (const [name, { wire }] of examples('Message')) {
    if (!name.startsWith('valid-')) continue
    const { message } = SendMessage.decode({ message: wire })
    const { messageId = '' } = message
    expect(SendMessage.encode({ type: 'message', message: { ...message, messageId } })).toStrictEqual({
      message: wire,
    })
  }
})

test('both bindings read and say the same', () => {
  expect(rest).toBe(rpc)
})
