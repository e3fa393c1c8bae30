/** The declaration files of the build, which `npm test` leaves out: all are there, and schemas compose with zod's. */
import { existsSync, symlinkSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
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

it(
  'schemas of zod and of zod/mini take ours with their types, for both module systems',
  { timeout: 120_000 },
  () => {
    const files = ['zod', 'zod/mini'].flatMap((zod, at) =>
      ['mts', 'cts'].map((end) => {
        const field = zod === 'zod' ? 'MessageSchema.shape.messageId' : 'MessageSchema'
        return consumer.write(
          `types-${at}.${end}`,
          `import * as z from '${zod}'
      import { MessageSchema, PartSchema, type Message, type Part } from 'a2a-tasks/schemas'
      export const Envelope = z.object({ message: MessageSchema, part: PartSchema, field: ${field} })
      const envelope: z.infer<typeof Envelope> = Envelope.parse({})
      export const message: Message = envelope.message
      export const part: Part = envelope.part
      // @ts-expect-error It is not just anything.
      export const wrong: number = envelope.message`,
        )
      }),
    )
    // One program: the compiler reads and checks all declarations for each.
    const program = ts.createProgram(files, {
      module: ts.ModuleKind.Node16,
      target: ts.ScriptTarget.ES2022,
      strict: true,
      exactOptionalPropertyTypes: true,
      declaration: true,
      noEmit: true,
      types: [],
    })
    const faults = ts.getPreEmitDiagnostics(program)
    expect(
      faults.map(
        ({ file, messageText }) =>
          `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
      ),
    ).toEqual([])
  },
)
