/**
 * Results that a schema checks: the option `output`.
 *
 * @module
 */
import type { Content } from './run/output.js'
import { linesOf, type StandardSchema } from './standard-schema.js'

/**
 * The content of a result that the schema accepts: the value that it returns, as data, or as text if it is a string.
 * `undefined` where this value is `undefined`.
 *
 * @throws {TypeError} As a rejection, naming the path of each issue, for a result that the schema refuses.
 */
export async function validOutput(schema: StandardSchema, result: unknown): Promise<Content | undefined> {
  const checked = await schema['~standard'].validate(result)
  if (checked.issues !== undefined) {
    const { issues } = checked
    const got = result === undefined ? 'execute() returned nothing' : 'The result of execute()'
    const text = `${got}${result === undefined ? ', which' : ''} does not match "output": ${linesOf(issues)}`
    throw new TypeError(text, { cause: issues })
  }
  const { value } = checked
  if (value === undefined) return undefined
  return { type: 'part', part: typeof value === 'string' ? { text: value } : { data: value } }
}
