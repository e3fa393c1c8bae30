import { buildAgentCard, type Jwk } from 'a2a-tasks/agent-card'
import type { AgentCard, AgentCardSignature } from 'a2a-tasks/schemas'
import * as jose from 'jose'

export interface Pair {
  readonly privateKey: Jwk
  readonly publicKey: Jwk
}

export async function pair(kid: string, alg = 'ES256'): Promise<Pair> {
  const keys = await jose.generateKeyPair(alg, { extractable: true })
  const common = { kid, alg }
  return {
    privateKey: { ...(await jose.exportJWK(keys.privateKey)), ...common },
    publicKey: { ...(await jose.exportJWK(keys.publicKey)), ...common },
  }
}

/** Nothing in it is empty. */
export const plainCard: AgentCard = buildAgentCard({ name: 'Ada', url: 'https://ada.example' })

/** In it is what the official SDKs leave out. */
export const bearerCard: AgentCard = {
  ...plainCard,
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } } },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }],
}

/** A signature by another signer, with any headers. */
export async function forge(
  text: string,
  key: Parameters<jose.FlattenedSign['sign']>[0],
  protectedHeader: Record<string, unknown>,
  header?: Record<string, unknown>,
): Promise<AgentCardSignature> {
  const jws = new jose.FlattenedSign(new TextEncoder().encode(text))
  if (Object.keys(protectedHeader).length > 0) jws.setProtectedHeader(protectedHeader)
  if (header !== undefined) jws.setUnprotectedHeader(header)
  const signed = await jws.sign(key)
  return {
    protected: signed.protected ?? '',
    signature: signed.signature,
    ...(signed.header !== undefined && {
      header: signed.header as NonNullable<AgentCardSignature['header']>,
    }),
  }
}

export async function rejected(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run()
  } catch (error) {
    return error
  }
  throw new Error('Nothing was thrown')
}
