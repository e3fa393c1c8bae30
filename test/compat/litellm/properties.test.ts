import type { JsonValue } from 'a2a-tasks'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { litellm } from '../../../src/compat/index.js'
import { overTheWire, task as anyTask, text } from '../../wire/support/arbitraries.js'
import { newTask, taken } from './support/litellm.js'

const { rpc } = litellm()

/** The document's structs, and nothing that they have not. */
const ArtifactSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  mime_type: z.string(),
  content: z.string().optional(),
  url: z.string().optional(),
})
const StateSchema = z.enum(['pending', 'running', 'completed', 'failed', 'cancelled', 'input_required'])
const OutputSchema = z.strictObject({
  response: z.string(),
  data: z.json().optional(),
  artifacts: z.array(ArtifactSchema),
})
const TaskSchema = z.strictObject({
  id: z.string(),
  state: StateSchema,
  input: z.strictObject({ instruction: z.string(), context: z.json(), artifacts: z.array(ArtifactSchema) }),
  output: OutputSchema.optional(),
  error: z
    .strictObject({
      code: z.string(),
      message: z.string(),
      details: z.json().optional(),
      retryable: z.boolean(),
    })
    .optional(),
  metadata: z.strictObject({
    agent_id: z.string().min(1),
    provider: z.string().min(1),
    parent_task_id: z.string().optional(),
    session_id: z.string().optional(),
    tags: z.array(z.string()),
  }),
  created_at: z.int(),
  updated_at: z.int(),
})
const UpdateSchema = z.strictObject({
  task_id: z.string(),
  state: StateSchema,
  progress: z.number().min(0).max(1).optional(),
  message: z.string().optional(),
  partial_output: OutputSchema.optional(),
})

test('whatever a task holds, the document can read it', () => {
  fc.assert(
    fc.property(anyTask, (task) => {
      const shown = overTheWire(rpc.GetTask?.encode({ task }))
      expect(TaskSchema.parse(shown)).toStrictEqual(shown)
      const entry = { type: 'task', task, last: false, isResync: false } as const
      const update = overTheWire(rpc.SendStreamingMessage?.encode(entry))
      expect(UpdateSchema.parse(update)).toStrictEqual(update)
    }),
  )
})

const context = fc.jsonValue({ maxDepth: 2 }).map((value) => overTheWire(value) as JsonValue)
const contents = fc.oneof(
  fc.record({
    content: fc.oneof(fc.base64String(), fc.constant('No base64!')),
    mime_type: fc.constant('text/plain'),
  }),
  fc.record({ content: fc.base64String(), mime_type: text }),
  fc.record({ url: fc.webUrl(), mime_type: text }),
)
const artifact = fc
  .tuple(fc.record({ id: text, name: text }), contents)
  .map(([about, content]) => ({ ...about, ...content }))
const input = fc.record({
  instruction: fc.string(),
  context,
  artifacts: fc.array(artifact, { maxLength: 3 }),
})
const metadata = fc.record(
  {
    agent_id: text,
    provider: text,
    parent_task_id: text,
    session_id: text,
    tags: fc.array(text, { maxLength: 2 }),
  },
  { requiredKeys: ['agent_id', 'provider', 'session_id', 'tags'] },
)

test('whatever a client sends comes back as it was', () => {
  fc.assert(
    fc.property(input, metadata, (given, about) => {
      fc.pre(!/"(__proto__|constructor)":/.test(JSON.stringify(given)))
      const { id, show } = taken({ ...newTask(), input: given, metadata: about })
      expect(show()).toEqual({ ...newTask(), id, input: given, metadata: about })
    }),
  )
})
