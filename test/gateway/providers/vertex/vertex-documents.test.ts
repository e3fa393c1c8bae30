import { describe, expect, it } from 'vitest'
import { JsonDocuments } from '../../../../src/gateway/providers/vertex/documents.js'
import { cpuMs } from '../../../support/cpu-time.js'

const DOCUMENTS = ['{"a":{"b":"}"}}', '"a \\"text\\" {"', '{"c":"\\\\"}', '{}', '"\\\\"']

describe.each([
  ['on lines', DOCUMENTS.join('\n') + '\n'],
  ['one after the other', DOCUMENTS.join('')],
  ['as server-sent events', DOCUMENTS.map((document) => `data: ${document}\r\n\r\n`).join('')],
  ['in an array', `[${DOCUMENTS.join(',\n')}]`],
])('documents %s', (_name, text) => {
  it.each([1, 2, 3, 7, 1_000])('are found in pieces of %i', (size) => {
    const documents = new JsonDocuments()
    const found: string[] = []
    for (let at = 0; at < text.length; at += size) found.push(...documents.add(text.slice(at, at + size)))
    expect(found).toEqual(DOCUMENTS)
    expect(documents.size).toBe(0)
  })
})

describe('a document that is not whole', () => {
  it('is kept, and nothing before it is', () => {
    const documents = new JsonDocuments()
    expect(documents.add('} , {"a":1} {"b"')).toEqual(['{"a":1}'])
    expect(documents.size).toBe(4)
    expect(documents.add(':2}')).toEqual(['{"b":2}'])
  })

  it('is looked at once, in however many pieces it comes', async () => {
    const documents = new JsonDocuments()
    const taken = await cpuMs(() => {
      documents.add('"')
      for (let pieces = 0; pieces < 250_000; pieces += 1) documents.add('0123456789abcdef')
      expect(documents.add('"')).toEqual([`"${'0123456789abcdef'.repeat(250_000)}"`])
    })
    expect(taken).toBeLessThan(3_000)
  })
})
