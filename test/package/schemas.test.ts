/** The built schemas, next to the user's own zod, and in a bundle that uses one of them. */
import { symlinkSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { bundle } from '../support/bundle.js'
import { Consumer } from '../support/consumer.js'
import { ROOT } from '../support/repository.js'

/** What it takes, and a little: growing past it is to be decided. */
const LIMIT = 10_000

const USE = `
  const Envelope = z.object({ message: MessageSchema, at: z.number().optional() })
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
  console.log(JSON.stringify(Envelope.parse({ message })))
  console.log(z.prettifyError(Envelope.safeParse({ message: { ...message, messageId: 5, parts: [{}] } }).error))`

const PRINTED = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}
✖ must be a string, got a number
  → at message.messageId
✖ must have exactly one of text, raw, url and data, got none
  → at message.parts[0]
`

const consumer = new Consumer()
symlinkSync(`${ROOT}node_modules/zod`, `${consumer.folder}/node_modules/zod`, 'junction')
afterAll(() => {
  consumer.remove()
})

describe.each(['zod', 'zod/mini'])('a schema of %s takes ours', (zod) => {
  const use = zod === 'zod' ? USE : USE.replace('z.number().optional()', 'z.optional(z.number())')

  it.each([
    ['import', `import * as z from '${zod}'\nimport { MessageSchema } from 'a2a-tasks/schemas'`],
    ['require', `const z = require('${zod}')\nconst { MessageSchema } = require('a2a-tasks/schemas')`],
  ])('that come by `%s`', async (system, imports) => {
    const name = `${system}.${system === 'import' ? 'mjs' : 'cjs'}`
    expect(await consumer.run(consumer.write(name, `${imports}\n${use}`))).toBe(PRINTED)
  })
})

describe('the bundle of a program that imports', () => {
  it(`MessageSchema has no other, and takes at most ${LIMIT} bytes, minified and zipped`, async () => {
    const { code, gzipBytes } = await bundle(`export { MessageSchema } from 'a2a-tasks/schemas'`)
    expect(code).toContain('referenceTaskIds')
    const others = ['TASK_STATE_', 'artifactId', 'pageSize', 'protocolVersion', 'jsonrpc', 'pushNotification']
    expect(others.filter((other) => code.includes(other))).toEqual([])
    expect(gzipBytes, `${gzipBytes} bytes, ${gzipBytes - LIMIT} too many`).toBeLessThanOrEqual(LIMIT)
  })

  it('a schema has no language of zod', async () => {
    const { code } = await bundle(`export * from 'a2a-tasks/schemas'`)
    expect(code).not.toContain('Invalid option')
  })
})
