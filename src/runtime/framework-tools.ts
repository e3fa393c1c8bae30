/**
 * Tools as AI SDK, OpenAI Agents and LangChain take them: the schema of the input, and the output for a model.
 *
 * @module
 */

/** The input of a tool: an object that its schema describes. */
export type ToolInput = Readonly<Record<string, unknown>>

/** A Standard Schema that has a JSON Schema. */
export interface ToolSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: ToolInput; readonly output: ToolInput } | undefined
    readonly validate: (
      value: unknown,
    ) => { readonly value: ToolInput } | { readonly issues: readonly { readonly message: string }[] }
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>
      readonly output: () => Record<string, unknown>
    }
  }
}

/** A file for a model. */
export interface ModelFile {
  /** In base64. */
  readonly data: string
  readonly mediaType: string
  readonly filename?: string
}

/** The output of a tool for a model of AI SDK. */
export type ToolModelOutput =
  | { type: 'text'; value: string }
  | {
      type: 'content'
      value: (
        | { type: 'text'; text: string }
        | { type: 'file'; mediaType: string; filename?: string; data: { type: 'data'; data: string } }
      )[]
    }

/** A part of the output of a tool in OpenAI Agents. */
export type OpenAiToolOutput =
  | { type: 'text'; text: string }
  | { type: 'image'; image: { data: string; mediaType: string } }
  | { type: 'file'; file: { data: string; mediaType: string; filename: string } }

/** A part of the content of a tool's message in LangChain. */
export type LangChainToolContent =
  { type: 'text'; text: string } | { type: 'image' | 'file'; mimeType: string; data: string }

/** @param problemOf - What is wrong with an input that does not fit. */
export function toToolSchema(
  jsonSchema: object,
  problemOf: (input: unknown) => string | undefined,
): ToolSchema {
  // Frameworks change what they get.
  const copy = (): Record<string, unknown> => structuredClone({ ...jsonSchema })
  return {
    '~standard': {
      ...{ version: 1, vendor: 'a2a-tasks' },
      validate(value) {
        const message = problemOf(value)
        return message === undefined ? { value: value as ToolInput } : { issues: [{ message }] }
      },
      jsonSchema: { input: copy, output: copy },
    },
  }
}

export function toModelOutput(text: string, files: readonly ModelFile[]): ToolModelOutput {
  if (files.length === 0) return { type: 'text', value: text }
  return {
    type: 'content',
    value: [
      { type: 'text', text },
      ...files.map(({ data, ...about }) => ({
        ...{ type: 'file' as const, ...about },
        data: { type: 'data' as const, data },
      })),
    ],
  }
}

export function toOpenAiOutput(text: string, files: readonly ModelFile[]): string | OpenAiToolOutput[] {
  return files.length === 0 ? text : [{ type: 'text', text }, ...files.map(toOpenAiPart)]
}

function toOpenAiPart({ data, mediaType, filename = 'file' }: ModelFile): OpenAiToolOutput {
  return mediaType.startsWith('image/')
    ? { type: 'image', image: { data, mediaType } }
    : { type: 'file', file: { data, mediaType, filename } }
}

export function toLangChainContent(
  text: string,
  files: readonly ModelFile[],
): string | LangChainToolContent[] {
  if (files.length === 0) return text
  return [
    { type: 'text', text },
    ...files.map(({ data, mediaType }) => ({
      type: mediaType.startsWith('image/') ? ('image' as const) : ('file' as const),
      ...{ mimeType: mediaType, data },
    })),
  ]
}
