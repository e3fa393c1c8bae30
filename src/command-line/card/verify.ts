/**
 * Verification of the signatures of a card.
 *
 * @module
 */
import { A2AError } from 'a2a-tasks'
import { verifyAgentCard, type Jwk } from 'a2a-tasks/agent-card'
import type { Arguments } from '../arguments.js'
import { CommandFailure, usageFailure } from '../failure.js'
import { EXIT } from '../exit-codes.js'
import { readInput } from '../input.js'
import type { LoadedCard } from './load.js'

export type Verification =
  | { readonly valid: true; readonly kid: string; readonly alg: string }
  | { readonly valid: false; readonly reason: string }

/** Keys of files, and those at the places that the user trusts: the origin of the card, and the options. */
export async function verifyCard(
  args: Arguments,
  cwd: string,
  { raw, source }: LoadedCard,
): Promise<Verification> {
  const files = await Promise.all(args.texts('key').map((path) => readKeys(path, cwd)))
  const keys = files.flat()
  const origin = URL.canParse(source) ? [new URL(source).origin] : []
  try {
    const { kid, alg } = await verifyAgentCard(raw, {
      ...(keys.length > 0 && { keys }),
      allowedJku: [...origin, ...args.texts('jku')],
    })
    return { valid: true, kid, alg }
  } catch (error) {
    if (A2AError.is(error, 'SIGNATURE_INVALID')) return { valid: false, reason: error.message }
    if (A2AError.is(error, 'UNSUPPORTED_OPERATION')) {
      throw new CommandFailure(
        'To verify signatures, the package "jose" must be installed beside a2a-tasks',
        EXIT.usage,
        {
          hint: 'Run: npm install jose, or: npx -p a2a-tasks -p jose a2a-tasks card URL --verify',
          cause: error,
        },
      )
    }
    throw error
  }
}

/** A key, a list of keys, or a key set. */
async function readKeys(path: string, cwd: string): Promise<Jwk[]> {
  let json: unknown
  try {
    json = JSON.parse((await readInput(path, cwd)).toString())
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw usageFailure(`"${path}" is not JSON`, '--key takes a JSON Web Key, or a set of them')
  }
  if (typeof json !== 'object' || json === null) throw usageFailure(`"${path}" has no JSON Web Key`)
  // Checked by the library, which reads each key.
  const { keys = [json] } = json as { keys?: unknown }
  return (Array.isArray(json) ? json : Array.isArray(keys) ? keys : []) as Jwk[]
}
