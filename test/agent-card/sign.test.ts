import {
  generateAgentCardSignature,
  verifyAgentCardSignature,
  AgentCard as SdkCard,
  canonicalizeAgentCard as sdkText,
} from '@a2a-js/sdk'
import { A2AError } from 'a2a-tasks'
import {
  AgentCard,
  canonicalizeAgentCard,
  signAgentCard,
  toHybridCard,
  verifyAgentCard,
} from 'a2a-tasks/agent-card'
import { AgentCardSchema, type AgentCard as Card } from 'a2a-tasks/schemas'
import * as jose from 'jose'
import { describe, expect, test, vi } from 'vitest'
import { bearerCard, pair, plainCard, rejected } from './support/sign.js'

const { privateKey, publicKey } = await pair('key-1')
const keys = [publicKey]

function headersOf({ signatures = [] }: Card): unknown[] {
  return signatures.map((each) => jose.decodeProtectedHeader(each))
}

describe('`signAgentCard`', () => {
  test('142. names algorithm, key and type in the protected header', async () => {
    const jku = 'https://ada.example/keys.json'
    expect(headersOf(await signAgentCard(plainCard, { key: privateKey }))).toEqual([
      { alg: 'ES256', kid: 'key-1', typ: 'JOSE' },
    ])
    expect(headersOf(await signAgentCard(plainCard, { key: privateKey, kid: 'other', jku }))).toEqual([
      { alg: 'ES256', kid: 'other', typ: 'JOSE', jku },
    ])
  })

  test('141. signs the canonical form', async () => {
    const signed = await signAgentCard(bearerCard, { key: privateKey, exact: true })
    const [signature] = signed.signatures ?? []
    const payload = jose.base64url.encode(canonicalizeAgentCard(bearerCard))
    const key = await jose.importJWK(publicKey)
    await expect(
      jose.flattenedVerify({ ...signature, payload } as jose.FlattenedJWS, key),
    ).resolves.toBeDefined()
    expect(AgentCardSchema.parse(signed)).toEqual(signed)
    expect({ ...signed, signatures: undefined }).toEqual({ ...bearerCard, signatures: undefined })
  })

  test('signs twice only where it makes a difference', async () => {
    expect((await signAgentCard(plainCard, { key: privateKey })).signatures).toHaveLength(1)
    expect((await signAgentCard(bearerCard, { key: privateKey })).signatures).toHaveLength(2)
    expect((await signAgentCard(bearerCard, { key: privateKey, exact: true })).signatures).toHaveLength(1)
  })

  test('keeps the signatures of others, and replaces its own', async () => {
    const other = await pair('key-2', 'EdDSA')
    const once = await signAgentCard(plainCard, { key: privateKey })
    const twice = await signAgentCard(once, { key: other.privateKey })
    const again = await signAgentCard({ ...twice, version: '2' }, { key: privateKey })
    expect(headersOf(twice)).toMatchObject([{ kid: 'key-1' }, { kid: 'key-2' }])
    expect(headersOf(again)).toMatchObject([{ kid: 'key-2' }, { kid: 'key-1' }])
    expect((await verifyAgentCard(again, { keys: [other.publicKey, publicKey] })).kid).toBe('key-1')
  })

  test.each(['ES384', 'EdDSA', 'Ed25519', 'PS256', 'RS256'])(
    'takes %s, as a JWK and as a CryptoKey',
    async (alg) => {
      const made = await jose.generateKeyPair(alg, { extractable: true })
      const jwk = { ...(await jose.exportJWK(made.privateKey)), alg, kid: 'k' }
      for (const options of [{ key: jwk }, { key: made.privateKey, alg, kid: 'k' }]) {
        const signed = await signAgentCard(plainCard, options)
        expect(await verifyAgentCard(signed, { getKey: () => made.publicKey })).toMatchObject({
          alg,
          kid: 'k',
        })
      }
    },
  )

  test.each([
    ['options.kid', plainCard, { key: { ...privateKey, kid: undefined } }],
    ['options.alg', plainCard, { key: { ...privateKey, alg: undefined } }],
    ['options.key', plainCard, { key: publicKey }],
    ['options.key', plainCard, { key: privateKey, alg: 'none' }],
    ['options.key', plainCard, { key: privateKey, alg: 'RS256' }],
    ['card.supportedInterfaces', { ...plainCard, supportedInterfaces: [] }, { key: privateKey }],
    ['card.name', { ...plainCard, name: '' }, { key: privateKey }],
    ['card.description', { ...plainCard, description: '' }, { key: privateKey }],
    ['card.version', { ...plainCard, version: '' }, { key: privateKey }],
    ['card.skills', { ...plainCard, skills: [] }, { key: privateKey }],
    [
      'card.skills[0].name',
      { ...plainCard, skills: [{ id: 's', name: '', description: 'D', tags: ['t'] }] },
      { key: privateKey },
    ],
    [
      'card.skills[0].description',
      { ...plainCard, skills: [{ id: 's', name: 'S', description: '', tags: ['t'] }] },
      { key: privateKey },
    ],
    [
      'card.provider.organization',
      { ...plainCard, provider: { url: 'u', organization: '' } },
      { key: privateKey },
    ],
    ['card', { ...plainCard, name: '\ud83d' }, { key: privateKey }],
  ])('refuses %s that is missing or wrong', async (path, card, options) => {
    const error = await rejected(() => signAgentCard(card, options as never))
    expect(error).toMatchObject({ code: 'INVALID_PARAMS', data: { path } })
    expect(JSON.stringify([error, String(error)])).not.toContain(privateKey['d'])
  })

  test('takes empty texts by the letter of §8.4.1', async () => {
    const card = { ...plainCard, description: '', skills: [] }
    const signed = await signAgentCard(card, { key: privateKey, exact: true })
    expect((await verifyAgentCard(signed, { keys, exact: true })).card).toEqual(signed)
  })
})

describe('143. `verifyAgentCard`', () => {
  test('143. returns the signer and the signed card', async () => {
    const signed = await signAgentCard(bearerCard, { key: privateKey })
    const verified = await verifyAgentCard(signed, { keys: { keys } })
    const schemes = { bearer: {} }
    const card = { ...signed, securityRequirements: [{ schemes }] }
    expect(verified).toEqual({ alg: 'ES256', kid: 'key-1', card })
    // As it comes over the wire, in whatever order, with more than 1.0 knows, or to be asked.
    const turned: unknown = JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(signed).reverse())))
    const served = { ...toHybridCard(signed), stranger: 1 }
    for (const each of [turned, served, new AgentCard(signed)]) {
      expect((await verifyAgentCard(each, { keys, exact: true })).card).toEqual(card)
    }
  })

  test('returns no field that was not signed', async () => {
    const signed = await signAgentCard(plainCard, { key: privateKey })
    const url = 'https://evil.example'
    const { card } = await verifyAgentCard({ ...signed, url, preferredTransport: 'JSONRPC' }, { keys })
    expect(JSON.stringify(card)).not.toContain('evil')
  })

  test('refuses options without a source of keys', async () => {
    const error = await rejected(() => verifyAgentCard(plainCard, {}))
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toContain('"keys" is missing')
  })

  test('refuses a value that is not a card', async () => {
    for (const card of [null, 'x', {}, { ...plainCard, signatures: [{}] }]) {
      const error = await rejected(() => verifyAgentCard(card, { keys }))
      expect(A2AError.is(error, 'INVALID_PARAMS')).toBe(true)
    }
  })

  test('says that a card is not signed', async () => {
    for (const card of [plainCard, { ...plainCard, signatures: [] }]) {
      expect(await rejected(() => verifyAgentCard(card, { keys }))).toMatchObject({
        name: 'SignatureInvalidError',
        code: 'SIGNATURE_INVALID',
        data: { reason: 'it has none' },
      })
    }
  })
})

describe('the official SDK', () => {
  const header = { alg: 'ES256', kid: 'key-1', typ: 'JOSE' }
  const schemes: Card = {
    ...bearerCard,
    securitySchemes: {
      ...bearerCard.securitySchemes,
      mtls: { mtlsSecurityScheme: {} },
      oauth: {
        oauth2SecurityScheme: {
          flows: { clientCredentials: { tokenUrl: 'https://id.example', scopes: {} } },
        },
      },
    },
    capabilities: {
      streaming: false,
      extensions: [{ uri: 'urn:x', required: false, params: { a: '', b: [null], c: 0, d: 'é' } }],
    },
  }
  const cards = { plainCard, bearerCard, schemes }

  test.each(Object.entries(cards))('verifies what we sign: %s', async (_, card) => {
    vi.spyOn(console, 'debug').mockReturnValue(undefined)
    const signed = await signAgentCard(card, { key: privateKey })
    const verify = verifyAgentCardSignature(() => Promise.resolve(publicKey as jose.JWK))
    await expect(verify(signed as never)).resolves.toBeUndefined()
    await expect(verify({ ...signed, version: '6' } as never)).rejects.toThrow('No valid signatures')
  })

  test.each(Object.entries(cards))('signs what we verify: %s', async (_, card) => {
    const sign = generateAgentCardSignature(privateKey, header)
    // Of what its own `fromJSON` gives, the signature would be without the security schemes.
    const served: unknown = JSON.parse(JSON.stringify(await sign(card as never)))
    const { kid, card: got } = await verifyAgentCard(served, { keys })
    expect(kid).toBe('key-1')
    expect(got.supportedInterfaces).toEqual(card.supportedInterfaces)
    expect(sdkText(SdkCard.fromJSON(got))).toBe(sdkText(SdkCard.fromJSON(card)))
    const tampered = { ...(served as Card), name: 'Eve' }
    expect(await rejected(() => verifyAgentCard(tampered, { keys }))).toMatchObject({
      code: 'SIGNATURE_INVALID',
    })
  })

  test('signs less than the whole card, which `exact` does not take', async () => {
    const signed = await generateAgentCardSignature(privateKey, header)(bearerCard as never)
    const served: unknown = JSON.parse(JSON.stringify(signed))
    const { card } = await verifyAgentCard(served, { keys })
    expect(card).not.toHaveProperty('securityRequirements')
    expect(await rejected(() => verifyAgentCard(served, { keys, exact: true }))).toMatchObject({
      code: 'SIGNATURE_INVALID',
    })
  })
})
