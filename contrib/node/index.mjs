// SPDX-License-Identifier: MIT
import sfid from './index.js';

export const { Generator, Layout, SfidError, decode, fromText, toText } = sfid;
export default sfid;
