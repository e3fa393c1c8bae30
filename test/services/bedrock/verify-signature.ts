/**
 * AWS Signature Version 4 as a service checks it, with no clock: the date of a signature is taken as it is.
 *
 * @module
 */
import { createHash, createHmac } from 'node:crypto'
import type { StubRequest } from '../stub-server.js'

export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

interface Scope {
  readonly credentials: Credentials
  readonly region: string
  readonly service: string
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** What is wrong with the signature of a request, as the service would say it; undefined where nothing is. */
export function signatureFault(request: StubRequest, scope: Scope): string | undefined {
  const { accessKeyId, secretAccessKey, sessionToken } = scope.credentials
  const date = header(request, 'x-amz-date')
  const match = AUTHORIZATION.exec(header(request, 'authorization'))
  if (!match) return 'Missing Authentication Token'
  const [, key = '', given = '', signed = '', signature = ''] = match
  const day = date.slice(0, 8)
  const expected = `${day}/${scope.region}/${scope.service}/aws4_request`
  if (key !== accessKeyId) return 'The security token included in the request is invalid.'
  if (given !== expected) return `Credential should be scoped to ${expected}, and is to ${given}.`
  if (!signed.split(';').includes('host')) return `'Host' must be a 'SignedHeader' in the AWS Authorization.`
  if (sessionToken !== undefined && header(request, 'x-amz-security-token') !== sessionToken)
    return 'The security token included in the request is invalid.'
  const hash = sha256(request.text)
  if (header(request, 'x-amz-content-sha256', hash) !== hash)
    return 'The value of x-amz-content-sha256 does not match the body.'
  const canonical = [
    request.method,
    request.path.split('/').map(encode).join('/'),
    canonicalQuery(request.query),
    ...signed.split(';').map((name) => `${name}:${header(request, name).trim().replace(/\s+/g, ' ')}`),
    '',
    signed,
    hash,
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', date, expected, sha256(canonical)].join('\n')
  const signingKey = [day, scope.region, scope.service, 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${secretAccessKey}`,
  )
  if (hmac(signingKey, text).toString('hex') === signature) return undefined
  return 'The request signature we calculated does not match the signature you provided.'
}

function header({ headers }: StubRequest, name: string, fallback = ''): string {
  return String(headers[name] ?? fallback)
}

/** All but the unreserved characters of RFC 3986. A path that is encoded already is so once more. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

function canonicalQuery(query: URLSearchParams): string {
  return [...query]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&')
}
