// Self-signed certificates, valid for an hour. They come from node:crypto, so that `npm test` needs no openssl.

import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

export interface Certificate {
  certPath: string;
  keyPath: string;
  certPem: string;
  /** As `getPeerCertificate().serialNumber` shows it. */
  serial: string;
}

/** DER: a tag, a length, the contents. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const long = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  const size = length < 128 ? [length] : long;
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const sequence = (...parts: Uint8Array[]): Buffer => der(0x30, ...parts);
const oid = (...bytes: number[]): Buffer => der(0x06, Buffer.from(bytes));
const time = (at: Date): Buffer =>
  der(0x17, Buffer.from(`${at.toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`));

const ECDSA_WITH_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const RSA_WITH_SHA256 = sequence(
  oid(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b),
  der(0x05),
);
const COMMON_NAME = oid(0x55, 0x04, 0x03);
const SUBJECT_ALT_NAME = oid(0x55, 0x1d, 0x11);
const HOUR_MS = 3_600_000;

export interface CertificateOptions {
  /** Writes a length in a form that OpenSSL accepts and BoringSSL rejects. */
  isLoose?: boolean;
  /** With an RSA key; otherwise on the curve P-256. */
  isRsa?: boolean;
}

/** A certificate for localhost and 127.0.0.1, with its key, in two files named after `name`. */
export function makeCertificate(
  directory: string,
  name: string,
  serial: number,
  { isLoose = false, isRsa = false }: CertificateOptions = {},
): Certificate {
  const { privateKey, publicKey } = isRsa
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = isRsa ? RSA_WITH_SHA256 : ECDSA_WITH_SHA256;
  const subject = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from('localhost')))));
  const names = sequence(
    der(0x82, Buffer.from('localhost')),
    der(0x87, Buffer.from([127, 0, 0, 1])),
  );
  const serialBytes = Buffer.from([0x01, serial]);
  const version = der(0x02, Buffer.from([2]));
  const contents = sequence(
    // The shortest form. BoringSSL rejects any other.
    isLoose
      ? Buffer.concat([Buffer.from([0xa0, 0x81, version.length]), version])
      : der(0xa0, version),
    der(0x02, serialBytes),
    algorithm,
    subject,
    sequence(time(new Date(Date.now() - HOUR_MS)), time(new Date(Date.now() + HOUR_MS))),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(SUBJECT_ALT_NAME, der(0x04, names)))),
  );
  const signature = sign('sha256', contents, privateKey);
  const whole = sequence(contents, algorithm, der(0x03, Buffer.from([0]), signature));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  const certPem = `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
  const certPath = path.join(directory, `${name}.crt`);
  const keyPath = path.join(directory, `${name}.key`);
  writeFileSync(certPath, certPem);
  writeFileSync(keyPath, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  return { certPath, keyPath, certPem, serial: serialBytes.toString('hex').toUpperCase() };
}
