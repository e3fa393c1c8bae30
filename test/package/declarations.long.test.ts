/** The declaration files of the build, which `npm test` leaves out: all are there, and schemas compose with zod's. */
import { existsSync, symlinkSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import ts from 'typescript'
import { Consumer } from '../support/consumer.js'
import { ENTRIES, ROOT } from '../support/repository.js'

const consumer = new Consumer()
symlinkSync(`${ROOT}node_modules/zod`, `${consumer.folder}/node_modules/zod`, 'junction')
afterAll(() => {
  consumer.remove()
})

it.each(ENTRIES)('a2a-tasks%s has types for both module systems', (entry) => {
  const missing = ['.d.ts', '.d.cts'].filter((end) => !existsSync(`${ROOT}dist${entry}/index${end}`))
  expect(missing).toEqual([])
})

describe.each(['zod', 'zod/mini'])('a schema of %s takes ours with its type', (zod) => {
  it.each(['mts', 'cts'])(
    'in a .%s',
    (end) => {
      const field = zod === 'zod' ? 'MessageSchema.shape.messageId' : 'MessageSchema'
      const file = consumer.write(
        `types.${end}`,
        `import * as z from '${zod}'
      import { MessageSchema, PartSchema, type Message, type Part } from 'a2a-tasks/schemas'
      export const Envelope = z.object({ message: MessageSchema, part: PartSchema, field: ${field} })
      const envelope: z.infer<typeof Envelope> = Envelope.parse({})
      export const message: Message = envelope.message
      export const part: Part = envelope.part
      // @ts-expect-error It is not just anything.
      export const wrong: number = envelope.message`,
      )
      const program = ts.createProgram([file], {
        module: ts.ModuleKind.Node16,
        target: ts.ScriptTarget.ES2022,
        strict: true,
        exactOptionalPropertyTypes: true,
        declaration: true,
        noEmit: true,
        types: [],
      })
      const faults = ts.getPreEmitDiagnostics(program)
      expect(faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
    },
    120_000,
  )
})
