/**
 * A path that only its reader knows: an inspector on loopback answers below it, and nowhere else.
 *
 * @module
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'

/** The variable by which `dev` gives the token to the process that serves. */
export const TOKEN_VARIABLE = 'A2A_TASKS_INSPECTOR_TOKEN'

/** A token of 192 random bits, as a segment of a path. */
export function newToken(): string {
  return randomBytes(24).toString('base64url')
}

/** Gives full access below `prefix/token/`. Pages of other sites do not know the token, whatever name leads them here. */
export function accessByToken(
  prefix: string,
  token: string,
): (request: Request) => { readonly stacks: true } | Response {
  const expected = Buffer.from(`${prefix}/${token}/`)
  return ({ url }) => {
    const given = Buffer.from(new URL(url).pathname.slice(0, expected.length))
    if (given.length === expected.length && timingSafeEqual(given, expected)) return { stacks: true }
    return new Response('Open the address of the inspector as the program has printed it.\n', { status: 401 })
  }
}
