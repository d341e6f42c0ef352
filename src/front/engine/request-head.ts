import { DroverError } from '../../shared/errors.js';

/** One number. One engine refuses longer ones, the other does not. */
const LENGTH = /^\d{1,15}$/;
const CLOSE = /(?:^|,)\s*close\s*(?:,|$)/i;

/**
 * Collects from all headers of a request what decides where it ends and whether others may follow on its connection. Servers
 * that read that differently take a part of one client's request for the next client's (request smuggling, RFC 9112 §11.2).
 * One object for all requests of an engine, one after the other.
 */
export class RequestHead {
  #hosts = 0;
  #lengths = 0;
  #length = '';
  #codings = 0;
  #coding = '';
  #connection = '';

  begin(): void {
    this.#hosts = 0;
    this.#lengths = 0;
    this.#codings = 0;
    this.#connection = '';
  }

  /** Takes each header once, also those of which only the first counts. @param name in lower case. */
  readonly add = (name: string, value: string): void => {
    switch (name) {
      case 'host':
        this.#hosts += 1;
        break;
      case 'content-length':
        this.#lengths += 1;
        this.#length = value;
        break;
      case 'transfer-encoding':
        this.#codings += 1;
        this.#coding = value;
        break;
      case 'connection':
        this.#connection = this.#connection === '' ? value : `${this.#connection},${value}`;
        break;
    }
  };

  /** The body is sent in chunks. */
  get isChunked(): boolean {
    return this.#codings === 1 && this.#coding.toLowerCase() === 'chunked';
  }

  /** The values of all `Connection` headers. */
  get connection(): string {
    return this.#connection;
  }

  /** The client wants the connection to be closed after the response. */
  get isLast(): boolean {
    const connection = this.#connection;
    // Decides most requests without the pattern, which costs more.
    if (connection === '' || connection === 'keep-alive') return false;
    return CLOSE.test(connection);
  }

  /** Why the request is refused, regardless of its route. @param isOld it is HTTP/1.0, without chunks and perhaps without Host. */
  refusal(method: string, isOld = false): DroverError | undefined {
    if (this.#codings > 0) {
      // A GET has no use for a body, and streams have no end after which the connection could be closed.
      const isOdd = isOld || !this.isChunked || method === 'GET' || method === 'HEAD';
      if (isOdd) return new DroverError('length_required');
      if (this.#lengths > 0) return new DroverError('ambiguous_length');
    }
    if (this.#lengths > 1 || (this.#lengths === 1 && !LENGTH.test(this.#length))) {
      return new DroverError('ambiguous_length');
    }
    if (this.#hosts === 1 || (isOld && this.#hosts === 0)) return undefined;
    return new DroverError('bad_request', 'one Host header is needed');
  }
}
