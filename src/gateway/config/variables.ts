/**
 * Variables in the texts of a configuration.
 *
 * @module
 */

/** The value of a variable. `undefined` where it is not set. */
export type Lookup = (name: string) => string | undefined

/**
 * The two signs for themselves, or the beginning of a variable, and the whole of it if it is one. A default that does not end
 * is taken to the end of the text: nothing is looked at twice.
 */
const VARIABLE = /\$\$\{|\$\{(?:([A-Za-z_]\w*)(?::-([^}]*))?(\}|$))?/g

/**
 * `text` with the values of its variables: `${NAME}`, or `${NAME:-default}` for one that is not set, or empty. `$${` is
 * `${`. Values are taken as they are: what they hold is no variable again.
 */
export function interpolate(text: string, lookup: Lookup, toError: (reason: string) => Error): string {
  return text.replace(VARIABLE, (whole: string, name?: string, byDefault?: string, end?: string) => {
    if (whole === '$${') return '${'
    if (name === undefined || !end) {
      throw toError('has ${ without a variable: write ${NAME}, ${NAME:-default}, or $${ for the two signs')
    }
    const set = lookup(name)
    const value = byDefault === undefined ? set : set || byDefault
    if (value === undefined) throw toError(`the variable ${name} is not set`)
    return value
  })
}
