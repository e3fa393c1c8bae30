/** Checks that end without a result. */

/** The end of a check that needs what the agent does not do. */
export class Skipped extends Error {
  constructor(ability: string) {
    super(REASONS[ability] ?? `the agent does not do what "${ability}" says`)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  answer: 'the agent asks again after the answer "Ada"',
  text: 'the agent does not repeat the text of "echo"',
  chunks: 'the agent does not send the artifact of "stream" in chunks',
}
