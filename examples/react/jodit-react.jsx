import JoditEditor from 'jodit-react';
import { joditConfig } from 'stowage/jodit';
import 'stowage/jodit.css';

const config = joditConfig({ url: '/connector' });

export const Editor = ({ value, onChange }) => (
  <JoditEditor value={value} config={config} onChange={onChange} />
);
