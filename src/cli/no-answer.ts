// Pure; used by the command line. Owns what to do when no answer came, by why.

const NO_SERVICE = 'start one with drover start, or give its address with --url';
const UNTRUSTED =
  'when it is the right one, trust its certificate: set NODE_EXTRA_CA_CERTS to the PEM file of it, or of who has signed it';
const NOT_PLAIN = `${NO_SERVICE}; with a certificate it begins with https://`;

/** By the codes of Node and OpenSSL. */
const HINTS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: 'renew its certificate, and look whether the clock is right here',
  CERT_NOT_YET_VALID: 'look whether the clock is right here',
  ERR_TLS_CERT_ALTNAME_INVALID: 'give the address with a name that its certificate has, with --url',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it has no certificate there; its address begins with http://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it has no certificate there; its address begins with http://',
  UND_ERR_SOCKET: NOT_PLAIN,
  ECONNRESET: NOT_PLAIN,
};

/** @param error of the client; why is in the code of one of its causes. */
export function hintFor(error: Error): string {
  for (let at: unknown = error.cause; at instanceof Error; at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (code !== undefined && Object.hasOwn(HINTS, code)) return HINTS[code] ?? NO_SERVICE;
  }
  return NO_SERVICE;
}
