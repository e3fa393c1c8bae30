/**
 * Security schemes and requirements of an agent.
 *
 * @module
 */
import { exactlyOneOf } from './one-of.js'
import { boolean, nonEmptyString, object, oneOf, optional, record, string, strings } from './scalars.js'
import type { Infer } from './schema.js'

const description = optional(string)
const refreshUrl = optional(nonEmptyString)
const scopes = record(string)

/** A2A 1.0 §4.5.7. The two deprecated flows, `implicit` and `password`, have no required fields. */
export const OAuthFlowsSchema = exactlyOneOf(
  object({
    authorizationCode: optional(
      object({
        authorizationUrl: nonEmptyString,
        tokenUrl: nonEmptyString,
        refreshUrl,
        scopes,
        pkceRequired: optional(boolean),
      }),
    ),
    clientCredentials: optional(object({ tokenUrl: nonEmptyString, refreshUrl, scopes })),
    implicit: optional(
      object({ authorizationUrl: optional(nonEmptyString), refreshUrl, scopes: optional(scopes) }),
    ),
    password: optional(object({ tokenUrl: optional(nonEmptyString), refreshUrl, scopes: optional(scopes) })),
    deviceCode: optional(
      object({ deviceAuthorizationUrl: nonEmptyString, tokenUrl: nonEmptyString, refreshUrl, scopes }),
    ),
  }),
  ['authorizationCode', 'clientCredentials', 'implicit', 'password', 'deviceCode'],
)
export type OAuthFlows = Infer<typeof OAuthFlowsSchema>

/** A2A 1.0 §4.5.1. */
export const SecuritySchemeSchema = exactlyOneOf(
  object({
    apiKeySecurityScheme: optional(
      object({ description, location: oneOf(['query', 'header', 'cookie']), name: nonEmptyString }),
    ),
    httpAuthSecurityScheme: optional(
      object({ description, scheme: nonEmptyString, bearerFormat: optional(string) }),
    ),
    oauth2SecurityScheme: optional(
      object({ description, flows: OAuthFlowsSchema, oauth2MetadataUrl: optional(nonEmptyString) }),
    ),
    openIdConnectSecurityScheme: optional(object({ description, openIdConnectUrl: nonEmptyString })),
    mtlsSecurityScheme: optional(object({ description })),
  }),
  [
    'apiKeySecurityScheme',
    'httpAuthSecurityScheme',
    'oauth2SecurityScheme',
    'openIdConnectSecurityScheme',
    'mtlsSecurityScheme',
  ],
)
export type SecurityScheme = Infer<typeof SecuritySchemeSchema>

/** The required scopes of each scheme (A2A 1.0 §4.5). ProtoJSON leaves out what is empty. */
export const SecurityRequirementSchema = object({
  schemes: optional(record(object({ list: optional(strings) }))),
})
export type SecurityRequirement = Infer<typeof SecurityRequirementSchema>
